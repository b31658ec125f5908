"""The tools that a session offers, what the model is told of them, and the answers to their calls.

Texts and schemas are `loop.json`'s. What a model does wrong in a call is said in the answer, never
raised: the harness puts it into the tool result. Specification: DESIGN sections 7 and 8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from compactor.core.errors import CompactorError, InputError
from compactor.core.policy import Policy, named
from compactor.core.texts import ToolText
from compactor.loop import loop
from compactor.session import recalls
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


def offered(policy: Policy) -> list[ToolText]:  # noqa: ARG001
    """The tools of a session, in order."""
    return [loop().tools.recall]


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


def prompt(policy: Policy, *, recallable: bool) -> str:  # noqa: ARG001
    """What the system prompt should say."""
    texts = loop().context.prompt
    return "\n".join([*texts.lines, *(texts.recall if recallable else ())])


def is_recall(name: str) -> bool:
    """Whether a tool's results are views of what is stored."""
    return named(name, loop().recall.tools)


def answer(kept: Kept, policy: Policy, name: str, arguments: Any, call_id: str) -> str:
    """See `Session.call`."""
    given = _object(arguments)
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
