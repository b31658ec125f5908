"""How other programs count tokens and what they put in the place of a result.

Re-statements of their rules in our words, over entries; each names what it re-states and where that
was read. Lengths are code points, where the original is JavaScript UTF-16 units. Specification:
docs/replay.md.
"""

from __future__ import annotations

import json
import re
from typing import Final

from compactor.core.model import Entry, Kind, PartKind

_ROLES: Final = {Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.SYSTEM: "system"}
_LANGCHAIN_MESSAGE: Final = 3
_LANGCHAIN_IMAGE: Final = 85


def utf16(text: str) -> int:
    """Length of a text as JavaScript counts it. O(text)."""
    return len(text) + sum(map(len, _WIDE.findall(text)))


_WIDE: Final = re.compile("[\U00010000-\U0010ffff]+")


def opencode_tokens(text: str) -> int:
    """opencode's `Token.estimate`: UTF-16 units / 4, rounded, halves up."""
    return (utf16(text) + 2) // 4


def langchain_tokens(entry: Entry, body: str) -> int:
    """`count_tokens_approximately` of langchain-core 1.8.3, of an entry as one message.

    Characters / 4 rounded up, and 3: content, the calls of a turn as Python spells them, of a
    result its call id and name, the role. An image is 85. Reasoning is not content there.
    """
    texts = [part.text for part in entry.parts if part.kind is PartKind.TEXT]
    images = sum(part.kind is PartKind.IMAGE for part in entry.parts)
    if entry.kind is Kind.TOOL:
        shown = [body, entry.call_id, "tool", entry.name]
        images = images if body == entry.body else 0
    else:
        shown = [*texts, _ROLES[entry.kind]]
    if entry.calls:
        shown.append(repr([_langchain_call(*call[:3]) for call in entry.calls]))
    chars = sum(map(len, shown))
    return (chars + 3) // 4 + _LANGCHAIN_MESSAGE + images * _LANGCHAIN_IMAGE


def _langchain_call(call_id: str, name: str, arguments: str) -> dict[str, object]:
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = arguments
    return {"name": name, "args": values, "id": call_id, "type": "tool_call"}


def gemini_tokens(entry: Entry, text: str | None) -> int:
    """Gemini CLI's `estimateTokenCountSync` of one function response, read at 04fbf507.

    Characters of the name and of the response as JSON, / 4, rounded down.

    Args:
        text: stands for the body; None is the body.
    """
    output = {"output": entry.body if text is None else text}
    response = json.dumps(output, ensure_ascii=False, separators=(",", ":"))
    return (len(entry.name) + utf16(response)) // 4


_SHELL: Final = "run_shell_command"
_PREVIEW_CHARS: Final = 250
_PREVIEW_LINES: Final = 10


def gemini_preview(entry: Entry) -> str:
    """What Gemini CLI's mask puts in the place of a response, read at 25137857.

    Of the shell's output the first and last ten lines, and its other sections whole; of others 250
    characters at either end. The random part of its file name is left out.
    """
    if entry.name == _SHELL:
        preview = _shell_preview(entry.body)
    else:
        content = json.dumps({"output": entry.body}, indent=2, ensure_ascii=False)
        preview = content
        if len(content) > 2 * _PREVIEW_CHARS:
            head, tail = content[:_PREVIEW_CHARS], content[-_PREVIEW_CHARS:]
            preview = f"{head}\n... [TRUNCATED] ...\n{tail}"
    name = f"{entry.name}_{entry.call_id}".lower()
    where = f"Output too large. Full output available at: tool-outputs/{name}.txt"
    return f"<tool_output_masked>\n{preview}\n\n{where}\n</tool_output_masked>"


def _shell_preview(text: str) -> str:
    """The sections of a shell's result, that of its output cut."""
    before, *sections = _SECTIONS.split(text)
    if not sections:
        return _ends_of_lines(text)
    shown = [_ends_of_lines(before.strip())] if before.strip() else []
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        section = section.strip()
        shown.append(f"{name}: {_ends_of_lines(section) if name == 'Output' else section}")
    return "\n".join(shown)


_SECTIONS: Final = re.compile(
    r"^(Output|Error|Exit Code|Signal|Background PIDs|Process Group PGID): ", re.MULTILINE
)


def _ends_of_lines(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= 2 * _PREVIEW_LINES:
        return text
    head, tail = lines[:_PREVIEW_LINES], lines[-_PREVIEW_LINES:]
    left = len(lines) - 2 * _PREVIEW_LINES
    return "\n".join([*head, f"\n... [{left} lines omitted] ...\n", *tail])


def swe_mask(entry: Entry) -> str:
    """What SWE-agent's `LastNObservations` puts in the place of an observation, 3ea751c."""
    return f"Old environment output: ({len(entry.body.splitlines())} lines omitted)"


_LEAN_BYTES: Final = 200
_LEAN_READS: Final = re.compile(
    r"read_file|readfile|file_read|fs_?read|view_?file|open_file|notebook_?read|cat_file|get_file"
    r"|fetch_file|multi_?read|read_many|str_replace_editor"
    r"|\A(?:read|view|cat|open)\Z|(?<![a-z0-9])(?:read|view|cat|open)(?![a-z0-9])"
)
"""Names of tools that lean-ctx takes for reads of files (`tool_kind.rs`, 4db3e7a7). Its look at the
content of results of unknown tools is left out."""


def lean_stub(entry: Entry) -> str:
    """What lean-ctx's `prune_history` makes of an old result, read at 245ac72a."""
    body = entry.body
    if len(body.encode("utf-8", "surrogatepass")) <= _LEAN_BYTES:
        return body
    lines = body.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    if _LEAN_READS.search(entry.name.lower()):
        return (
            f"[lean-ctx: an earlier file read ({len(lines)} lines) was pruned from older context "
            "to save tokens. Re-read the file if you need its full contents again.]"
        )
    if len(lines) <= 5:
        return body
    return "\n".join(
        [*lines[:3], f"[...{len(lines) - 5} lines pruned by lean-ctx...]", *lines[-2:]]
    )


def characters(entry: Entry) -> int:
    """All text of an entry, as pydantic-ai-harness 0.62 adds it up: names and arguments too."""
    size = len(entry.body) + sum(len(part.text) for part in entry.parts)
    return size + sum(len(call.name) + len(call.arguments) for call in entry.calls)
