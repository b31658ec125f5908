"""The tools that a session offers, what the model is told of them, and the answers to their calls.

Texts and schemas are `loop.json`'s. What a model does wrong in a call is said in the answer, never
raised: the harness puts it into the tool result. Specification: DESIGN sections 7 and 8.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from compactor.core.errors import CompactorError, EditError, InputError
from compactor.core.policy import Policy, named
from compactor.core.texts import ToolText
from compactor.loop import loop
from compactor.session import recalls
from compactor.session.editing import Edited, Editor
from compactor.session.kept import Kept


def _chat(tool: ToolText) -> dict[str, Any]:
    return {"type": "function", "function": _plain(tool)}


def _plain(tool: ToolText) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def _anthropic(tool: ToolText) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }


def _bedrock(tool: ToolText) -> dict[str, Any]:
    return {
        "toolSpec": {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"json": tool.parameters},
        }
    }


SHAPES = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": lambda tool: {"type": "function", **_plain(tool)},
    "gemini": _plain,
    "bedrock": _bedrock,
    "entries": _plain,
}
"""Format → a definition in its shape; Gemini's lie in one `functionDeclarations`."""


EDITING = (
    "context_sections", "context_tombstone", "context_replace", "context_rewrite",
    "context_recall", "context_diff",
)  # fmt: skip
"""The tools by which a model edits its own context, as `loop.json` has them."""


def offered(policy: Policy) -> list[ToolText]:
    """The tools of a session, in order."""
    texts = loop().tools
    editing = [getattr(texts, name) for name in EDITING] if policy.editing else []
    return [texts.recall, *editing]


def tools(format_name: str, policy: Policy) -> list[dict[str, Any]]:
    """Definitions for a request of a format.

    Raises:
        InputError: `input.format_unknown` for a format that is no request.
    """
    shape = SHAPES.get(format_name)
    if shape is None:
        raise InputError(
            f"requests of format {format_name!r} offer no tools",
            code="input.format_unknown",
            hint=f"known: {', '.join(SHAPES)}",
        )
    found = [shape(tool) for tool in offered(policy)]
    return [{"functionDeclarations": found}] if format_name == "gemini" else found


def prompt(policy: Policy, *, recallable: bool, path: str = "") -> str:
    """What the system prompt should say. path: of the context file, "" where there is none."""
    texts, editing = loop().context.prompt, loop().editing
    lines = [*texts.lines, *(texts.recall if recallable else ())]
    if policy.editing:
        lines += editing.prompt
    if policy.editing and path:
        lines += [line.format(path=path) for line in editing.prompt_file]
    return "\n".join(lines)


def is_recall(name: str) -> bool:
    """Whether a tool's results are views of what is stored."""
    return named(name, loop().recall.tools)


def answer(
    kept: Kept, editor: Editor, policy: Policy, name: str, arguments: Any, call_id: str
) -> str:
    """See `Session.call`."""
    given = _object(arguments)
    if policy.editing and name.rsplit("__", 1)[-1] in EDITING:
        return _edited(editor, name.rsplit("__", 1)[-1], given)
    if is_recall(name):
        try:
            seq, named_id, query, window = _recall_arguments(given)
            return recalls.recall(kept, seq, named_id, query, window, call_id)
        except CompactorError as error:
            if error.code.startswith("store."):
                raise
            return error.message
    raise InputError(
        f"the session has no tool {name[:64]!r}",
        code="input.shape",
        path="name",
        hint=f"known: {', '.join(tool.name for tool in offered(policy))}",
    )


def _edited(editor: Editor, name: str, given: dict[str, Any]) -> str:
    """What a tool of editing answers; a refusal in words."""
    tool: ToolText = getattr(loop().tools, name)
    said = [given.get(key) for key in tool.parameters["properties"]]
    if not all(isinstance(value, str) for value in said):
        needed = ", ".join(tool.parameters["properties"])
        return loop().editing.needs.format(tool=name, needed=needed)
    try:
        answer: str | Edited = _EDITS[name](editor, *said)
    except EditError as error:
        return error.message
    return answer if isinstance(answer, str) else answer.text


_EDITS: Mapping[str, Callable[..., str | Edited]] = {
    "context_sections": Editor.map_text,
    "context_tombstone": Editor.tombstone,
    "context_replace": Editor.replace,
    "context_rewrite": Editor.rewrite,
    "context_recall": Editor.recall,
    "context_diff": Editor.diff,
}
"""Tool → the editor's method; its arguments are the schema's, in order."""


def _recall_arguments(
    given: dict[str, Any],
) -> tuple[int | None, str | None, str | None, recalls.Window]:
    """Seq, id, query and lines as a model gives them, in the types that are meant."""
    seq, offset, limit = (_whole(given.get(key)) for key in ("seq", "offset", "limit"))
    id_, query = given.get("id"), given.get("query")
    named_id = str(id_) if isinstance(id_, str | int) and id_ != "" else None
    text = query if isinstance(query, str) and query else None
    return seq, named_id, text, recalls.Window(offset, limit)


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal():
        return int(value[:18])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(arguments: Any) -> dict[str, Any]:
    """Arguments as an object; {} for what is none."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return {}
    return dict(arguments) if isinstance(arguments, Mapping) else {}
