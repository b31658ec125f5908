"""Kiro and Amazon Q CLI conversations: `{conversation_id, history: [{user, assistant}]}`.

A pair is a user's message and the answer to it. A user's message is a prompt, or results of the
calls before it, or both where the user stopped the calls; the context that hooks added is sent with
it. The last prompt may wait in `next_message`. A summary comes first. Tools are in the file, the
system prompt and usage are not. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading
from compactor.formats import blocks
from compactor.formats.blocks import other_part
from compactor.formats.builder import Builder
from compactor.formats.media import image_url_part
from compactor.formats.messages import Carried, field, shape_error, text_field, value_at
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import items, unanswered, unreadable

_PROMPT = "Prompt"
_RESULTS = ("ToolUseResults", "CancelledToolUses")
_ANSWERS = ("Response", "ToolUse")
_HISTORY, _NEXT, _SUMMARY = "history", "next_message", "latest_summary"


class Kiro:
    """The lens of conversations of Kiro CLI and Amazon Q Developer CLI."""

    name = "kiro"

    def recognises(self, root: Any) -> bool:
        return (
            isinstance(root, dict)
            and bool(text_field(root, "conversation_id"))
            and isinstance(root.get(_HISTORY), list)
            and all(map(_is_pair, root[_HISTORY][:1]))
        )

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when it is no conversation.
        """
        if not self.recognises(root):
            raise shape_error((), "no conversation of Kiro")
        builder = Builder()
        summary = _summary(root)
        if summary:
            builder.user([Part(PartKind.TEXT, summary)], (_SUMMARY, 0))
        for index, pair in enumerate(root[_HISTORY]):
            _say_user(builder, field(pair, "user"), (_HISTORY, index, "user"))
            _say_turn(builder, field(pair, "assistant"), (_HISTORY, index, "assistant"))
        if root.get(_NEXT) is not None:
            _say_user(builder, root[_NEXT], (_NEXT,))
        odd: list[Path] = [
            (_HISTORY, i) for i, pair in enumerate(root[_HISTORY]) if not _is_pair(pair)
        ]
        tools = tuple(_tools(root))
        return Reading(
            entries=builder.entries,
            overhead=Overhead(tuple(_texts(tools))),
            carried=Carried(tools=tools),
            findings=[
                *builder.findings,
                *unanswered(builder.entries),
                *_summarised(summary),
                *unreadable(odd, "pairs"),
            ],
            model=_model(root),
        )

    def messages(self, root: Any) -> Sequence[Any]:
        waiting = field(root, _NEXT)
        return [*items(field(root, _HISTORY)), *([] if waiting is None else [waiting])]

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:  # noqa: ARG002
        return [Edit((*entry.at, "content"), [{"Text": text}])]

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        """Both copies, where the call was handed on under another name."""
        made = entry.calls[call]
        edits = blocks.rewrite_argument(root, made, path, text)
        copy, at = value_at(root, made.at[:-1]).get("orig_args"), (*made.at[:-1], "orig_args")
        is_same = bool(copy) and compact_json(copy) == made.arguments
        return [*edits, *([Edit((*at, *path), text)] if is_same else [])]


def _is_pair(pair: Any) -> bool:
    """Whether this is a user's message and an answer, each named by its kind."""
    user, answer = field(field(pair, "user"), "content"), field(pair, "assistant")
    return _named(user, (_PROMPT, *_RESULTS)) != "" and _named(answer, _ANSWERS) != ""


def _named(native: Any, names: Sequence[str]) -> str:
    """The one of these keys under which an object holds an object; "" when none is there."""
    return next((name for name in names if isinstance(field(native, name), dict)), "")


def _say_user(builder: Builder, user: Any, at: Path) -> None:
    """Results, then what else a user's message says."""
    content = field(user, "content")
    kind = _named(content, (_PROMPT, *_RESULTS))
    inner = (*at, "content", kind, "tool_use_results")
    for index, native in enumerate(items(field(field(content, kind), "tool_use_results"))):
        _say_result(builder, native, (*inner, index))
    texts = [text_field(user, "additional_context"), text_field(field(content, kind), "prompt")]
    parts = [Part(PartKind.TEXT, text) for text in texts if text]
    parts += [image_url_part(compact_json(image)) for image in items(field(user, "images"))]
    if parts or kind == _PROMPT:
        builder.user(parts, at)


def _say_result(builder: Builder, native: Any, at: Path) -> None:
    """A text or a JSON value; the value is sent as its JSON."""
    texts: list[str] = []
    others: list[Part] = []
    for block in items(field(native, "content")):
        if isinstance(field(block, "Text"), str):
            texts.append(block["Text"])
        elif isinstance(block, dict) and "Json" in block:
            texts.append(compact_json(block["Json"]))
        else:
            others.append(other_part(block))
    builder.result(
        text_field(native, "tool_use_id"),
        filter(None, texts),
        others,
        at,
        error=field(native, "status") == "Error",
        required=not isinstance(field(native, "content"), list),
        orphan_path=dotted(at),
    )


def _say_turn(builder: Builder, answer: Any, at: Path) -> None:
    kind = _named(answer, _ANSWERS)
    if not kind:
        return
    native, inner = answer[kind], (*at, kind, "tool_uses")
    calls = [
        Call(
            text_field(call, "id"),
            text_field(call, "name"),
            blocks.arguments_text(field(call, "args")),
            (*inner, index, "args"),
        )
        for index, call in enumerate(items(native.get("tool_uses")))
    ]
    builder.turn([Part(PartKind.TEXT, text_field(native, "content"))], calls, at)


def _summary(root: Any) -> str:
    """The summary that stands for what `/compact` took out: a text and its request."""
    summary = items(field(root, _SUMMARY))
    return summary[0] if summary and isinstance(summary[0], str) else ""


def _summarised(summary: str) -> list[Finding]:
    message = "a summary stands for messages that are not in the file"
    return [Finding("before_compaction", message)] if summary else []


def _tools(root: Any) -> Iterator[Any]:
    """The tools, which the file has by where they come from."""
    origins = field(root, "tools")
    for tools in origins.values() if isinstance(origins, dict) else ():
        yield from items(tools)


def _texts(tools: Iterable[Any]) -> Iterator[str]:
    for tool in tools:
        yield from blocks.tool_texts(tool, field(tool, "ToolSpecification"), "input_schema")


def _model(root: Any) -> str:
    """The model of the last request, or the one that was chosen."""
    for pair in reversed(items(field(root, _HISTORY))):
        name = text_field(field(pair, "request_metadata"), "model_id")
        if name:
            return name
    return text_field(field(root, "model_info"), "model_id") or text_field(root, "model")
