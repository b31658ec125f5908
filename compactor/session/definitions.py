"""The tools that a session offers, what the model is told of them, and the answers to their calls.

Texts and schemas are `loop.json`'s. What a model does wrong in a call is said in the answer, never
raised: the harness puts it into the tool result. Specification: DESIGN sections 7 and 8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compactor.core.errors import CompactorError, InputError
from compactor.core.policy import Policy, named
from compactor.core.texts import ToolText
from compactor.loop import loop

if TYPE_CHECKING:
    from compactor.session.session import Session


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


def answer(session: Session, name: str, arguments: Any, call_id: str) -> str:
    """See `Session.call`."""
    given = _object(arguments)
    if is_recall(name):
        try:
            return session.recall(**_recall_arguments(given), call_id=call_id)
        except CompactorError as error:
            if error.code.startswith("store."):
                raise
            return error.message
    raise InputError(
        f"the session has no tool {name[:64]!r}",
        code="input.shape",
        path="name",
        hint=f"known: {', '.join(tool.name for tool in offered(session.policy))}",
    )


def _recall_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """What a model gives, in the types that are meant."""
    wanted = {key: _whole(given.get(key)) for key in ("seq", "offset", "limit")}
    named = given.get("id")
    query = given.get("query")
    return wanted | {
        "id": str(named) if isinstance(named, str | int) and named != "" else None,
        "query": query if isinstance(query, str) and query else None,
    }


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
