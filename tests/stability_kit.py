"""A conversation for tests of cache stability, and what a stream says of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from compactor.core.model import Path
from compactor.formats.raw.edits import Edit, apply_edits, dotted
from compactor.stability import CacheStability
from compactor.testing import Conversation

TOOLS = [
    {"name": name, "description": f"Runs {name}.", "input_schema": {"type": "object"}}
    for name in ("bash", "grep", "read_file")
]
LONG = "src/parser.c:118: error: unknown type name\n" * 40
TALK = (
    Conversation(system="You fix builds. Be brief.", tools=(), model="claude-sonnet-4-5")
    .user("Why is the build red?")
    .call("bash", {"command": "make", "timeout": 10}, result=LONG, text="I will look.")
    .call("grep", {"pattern": "yylex"}, result="a.c\nb.c\nc.c", text="I see.")
    .assistant("It is the parser.")
    .user("Fix it.")
)
FORMATS = ("anthropic", "bedrock", "gemini", "openai-chat", "openai-responses")


def bodies(write: Callable[[Conversation], Any] = Conversation.anthropic) -> list[Any]:
    """The requests of a harness that does everything right."""
    return [write(TALK.upto(count)) | {"tools": TOOLS} for count in TALK.boundaries]


def requests_of(talk: Conversation, format_name: str) -> list[Any]:
    """The same of any conversation, in a format, to be changed."""
    return [copy.deepcopy(talk.upto(count).write(format_name)) for count in talk.boundaries]


def streamed(requests: Iterable[Any], **settings: Any) -> CacheStability:
    stream = CacheStability(**settings)
    for request in requests:
        stream.record(request)
    return stream


def seen(stream: CacheStability) -> list[tuple[int, str, str, str]]:
    """Each break: request, part, path, look."""
    return [
        (one.request, one.change.part, dotted(one.change.at), one.change.look)
        for one in stream.breaks
    ]


def looks(stream: CacheStability) -> list[str]:
    """What each break looks like."""
    return [one.change.look for one in stream.breaks]


def changed(at: Path, value: Any, upto: int = 1) -> list[Any]:
    """The requests of the harness, one value another in all but the first `upto`."""
    made = bodies()
    return [*made[:upto], *(apply_edits(one, [Edit(at, value)]) for one in made[upto:])]


def history(body: Any) -> list[Any]:
    """The messages of a body."""
    found: list[Any] = next(body[key] for key in ("messages", "contents", "input") if key in body)
    return found
