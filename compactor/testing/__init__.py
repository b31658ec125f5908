"""Builds conversations for tests: the same facts, written in each format.

    from compactor.testing import Conversation

    talk = Conversation().user("look").call("bash", {"command": "ls"}, result="a.py")
    out = compactor.compact(talk.anthropic(), policy)

Deterministic: ids are counters, nothing is random. A writer leaves out nothing: what its format has
no words for is an error (`formats` names those that can say it all). Another format is one writer
and one row of `WRITERS`. Specification: DESIGN section 3; law L6.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.testing.facts import (
    ASSISTANT,
    SIGNATURE,
    SYSTEM,
    TOOL,
    USER,
    Fact,
    Native,
    ToolCall,
    picture_url,
)
from compactor.testing.keyed import bedrock, gemini
from compactor.testing.responses import openai_responses

__all__ = ["WRITERS", "Conversation", "Fact", "ToolCall", "Writer"]

IMAGES, REASONING, SYSTEM_TURNS = "images in results", "reasoning", "system turns"
LEADING_SYSTEM = "a system turn at the start, which is no system prompt"


class Conversation:
    """Facts, oldest first. Each method adds some and returns the conversation.

    Args:
        system: the system prompt. It is overhead, and the neutral shape has no place for it.
        tools: tool definitions: `name`, `description`, `parameters` (a JSON schema).
        model: the model's name for request bodies; "" leaves it out.
    """

    def __init__(
        self, *, system: str = "", tools: Iterable[Mapping[str, Any]] = (), model: str = ""
    ) -> None:
        self.facts: list[Fact] = []
        self.system_prompt = system
        self.tools = tuple(tools)
        self.model = model
        self._calls = 0

    def __repr__(self) -> str:
        return f"Conversation({self.facts!r})"

    def user(self, text: str) -> Conversation:
        """A message of the person."""
        return self._say(Fact(USER, text))

    def system(self, text: str) -> Conversation:
        """A system message in mid-conversation."""
        return self._say(Fact(SYSTEM, text))

    def assistant(self, text: str, *, reasoning: str = "") -> Conversation:
        """A model turn without calls."""
        return self._say(Fact(ASSISTANT, text, reasoning=reasoning))

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] = MappingProxyType({}),
        *,
        result: str | None = "",
        error: bool = False,
        images: int = 0,
        id: str = "",  # noqa: A002  (the providers' word)
        text: str = "",
        reasoning: str = "",
    ) -> Conversation:
        """A model turn with one call, and its result.

        Args:
            result: None leaves the call unanswered.
            images: number of pictures in the result, of unknown size.
            id: of the call; "" takes the next of `call_1`, `call_2`, …
            text: what the model says beside the call.
        """
        made = ToolCall(name, arguments, result, error, images, id)
        return self.parallel([made], text=text, reasoning=reasoning)

    def parallel(
        self, calls: Iterable[ToolCall], *, text: str = "", reasoning: str = ""
    ) -> Conversation:
        """A model turn with several calls, and their results in the same order."""
        made = tuple(self._numbered(call) for call in calls)
        self._say(Fact(ASSISTANT, text, reasoning=reasoning, calls=made))
        for call in made:
            if call.result is not None:
                self.result(call.id, call.result, error=call.error, images=call.images)
        return self

    def result(
        self, call_id: str, text: str, *, error: bool = False, images: int = 0
    ) -> Conversation:
        """A tool result alone: of a call left unanswered, or of none at all."""
        return self._say(Fact(TOOL, text, call_id, error, images))

    def upto(self, count: int) -> Conversation:
        """The conversation as it was when it had `count` facts."""
        early = Conversation(system=self.system_prompt, tools=self.tools, model=self.model)
        early.facts = self.facts[:count]
        early._calls = self._calls
        return early

    @property
    def boundaries(self) -> list[int]:
        """Counts of facts at which a harness sends a request: before each model turn, at the end.

        DESIGN section 5, Catch-up, counted in facts: adjacent model messages are one turn.
        """
        kinds = [fact.kind for fact in self.facts]
        turns = [n for n in range(1, len(kinds)) if kinds[n] == ASSISTANT != kinds[n - 1]]
        return [*turns, len(kinds)]

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the calls that failed, for formats without an error flag (`failed=`)."""
        return tuple(dict.fromkeys(fact.call_id for fact in self.facts if fact.error))

    @property
    def formats(self) -> list[str]:
        """Names of the formats that can say all of it (errors aside, see `failed`)."""
        return [name for name, writer in WRITERS.items() if not self._unsayable(writer)]

    def write(self, format: str) -> Any:  # noqa: A002  (the word users know)
        """The conversation in a format: Python values, or bytes where it is a file's.

        Raises:
            InputError: `input.format_unknown` for no format of `WRITERS`; `input.shape` when it has
                no words for something.
        """
        if format not in WRITERS:
            hint = f"known: {', '.join(WRITERS)}"
            raise InputError(f"no writer for {format!r}", code="input.format_unknown", hint=hint)
        writer = WRITERS[format]
        lacking = self._unsayable(writer)
        if lacking:
            raise InputError(f"{format} cannot express {', '.join(lacking)}", code="input.shape")
        return writer.write(self)

    def entries(self) -> list[Native]:
        """The neutral shape."""
        written: list[Native] = self.write("entries")
        return written

    def anthropic(self) -> Native:
        """An Anthropic Messages request body."""
        written: Native = self.write("anthropic")
        return written

    def openai_chat(self) -> Native:
        """A Chat Completions request body. It has no error flags: give `failed=` as well."""
        written: Native = self.write("openai-chat")
        return written

    def gemini(self) -> Native:
        """A Gemini `generateContent` request body."""
        written: Native = self.write("gemini")
        return written

    def bedrock(self) -> Native:
        """A Bedrock Converse request body."""
        written: Native = self.write("bedrock")
        return written

    def openai_responses(self) -> Native:
        """A Responses request body. Functions have no error flags: give `failed=` as well."""
        written: Native = self.write("openai-responses")
        return written

    def claude_code(self) -> bytes:
        """A Claude Code session file."""
        written: bytes = self.write("claude-code")
        return written

    def _say(self, fact: Fact) -> Conversation:
        self.facts.append(fact)
        return self

    def _numbered(self, call: ToolCall) -> ToolCall:
        self._calls += 1
        return call if call.id else call._replace(id=f"call_{self._calls}")

    def _unsayable(self, writer: Writer) -> list[str]:
        said = {
            IMAGES: any(fact.images for fact in self.facts),
            REASONING: any(fact.reasoning for fact in self.facts),
            SYSTEM_TURNS: any(fact.kind == SYSTEM for fact in self.facts),
            LEADING_SYSTEM: any(fact.kind == SYSTEM for fact in self.facts[:1]),
        }
        return [what for what in writer.lacks if said[what]]


def _entries(talk: Conversation) -> list[Native]:
    return [_entry(fact) for fact in talk.facts]


def _entry(fact: Fact) -> Native:
    if fact.kind == TOOL:
        entry: Native = {"kind": TOOL, "call": fact.call_id, "text": fact.text}
        if fact.error:
            entry["error"] = True
        if fact.images:
            entry["images"] = fact.images
        return entry
    if fact.kind != ASSISTANT:
        return {"kind": fact.kind, "text": fact.text}
    calls = [
        {"id": call.id, "name": call.name, "arguments": json.dumps(dict(call.arguments))}
        for call in fact.calls
    ]
    return {"kind": ASSISTANT, "text": fact.text, "calls": calls}


def _anthropic(talk: Conversation) -> Native:
    body: Native = {"max_tokens": 1024}
    if talk.model:
        body["model"] = talk.model
    if talk.system_prompt:
        body["system"] = talk.system_prompt
    if talk.tools:
        body["tools"] = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["parameters"],
            }
            for tool in talk.tools
        ]
    return body | {"messages": _anthropic_messages(talk.facts)}


def _anthropic_messages(facts: Iterable[Fact]) -> list[Native]:
    """Results share a message, and what the person says next goes behind them in it."""
    messages: list[Native] = []
    open_results: list[Native] | None = None
    for fact in facts:
        if fact.kind == TOOL:
            if open_results is None:
                open_results = []
                messages.append({"role": USER, "content": open_results})
            open_results.append(_anthropic_result(fact))
        elif fact.kind == USER and open_results is not None:
            open_results.append({"type": "text", "text": fact.text})
            open_results = None
        else:
            content: Any = fact.text if fact.kind != ASSISTANT else _anthropic_blocks(fact)
            messages.append({"role": fact.kind, "content": content})
            open_results = None
    return messages


def _anthropic_blocks(fact: Fact) -> list[Native]:
    """Reasoning, text and calls of a model turn."""
    blocks: list[Native] = []
    if fact.reasoning:
        thinking = {"type": "thinking", "thinking": fact.reasoning, "signature": SIGNATURE}
        blocks.append(thinking)
    if fact.text:
        blocks.append({"type": "text", "text": fact.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        for call in fact.calls
    ]
    return blocks or [{"type": "text", "text": ""}]


def _anthropic_result(fact: Fact) -> Native:
    content: Any = fact.text
    if fact.images:
        text = [{"type": "text", "text": fact.text}] if fact.text else []
        content = text + [_picture(number) for number in range(fact.images)]
    block: Native = {"type": "tool_result", "tool_use_id": fact.call_id, "content": content}
    return block | {"is_error": True} if fact.error else block


def _picture(number: int) -> Native:
    return {"type": "image", "source": {"type": "url", "url": picture_url(number)}}


def _openai_chat(talk: Conversation) -> Native:
    body: Native = {"model": talk.model} if talk.model else {}
    if talk.tools:
        body["tools"] = [{"type": "function", "function": dict(tool)} for tool in talk.tools]
    lead = [{"role": SYSTEM, "content": talk.system_prompt}] if talk.system_prompt else []
    return body | {"messages": [*lead, *map(_openai_message, talk.facts)]}


def _openai_message(fact: Fact) -> Native:
    if fact.kind == TOOL:
        return {"role": TOOL, "tool_call_id": fact.call_id, "content": fact.text}
    message: Native = {"role": fact.kind, "content": fact.text}
    if fact.reasoning:
        message["reasoning_content"] = fact.reasoning
    if fact.calls:
        message["content"] = fact.text or None
        message["tool_calls"] = [_openai_call(call) for call in fact.calls]
    return message


def _openai_call(call: ToolCall) -> Native:
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
    return {"id": call.id, "type": "function", "function": function}


def _claude_code(talk: Conversation) -> bytes:
    """Each block of a turn and each result has a line; a result hangs on the line of its call.

    A line that is no message comes first, as in real files: one line alone would be plain JSON.
    """
    rows: list[Native] = [{"type": "summary", "summary": "", "leafUuid": ""}]
    made_by: dict[str, str] = {}
    last: str | None = None
    for number, fact in enumerate(talk.facts, 1):
        for message in _claude_messages(fact, number, talk.model):
            block = message["content"][0] if isinstance(message["content"], list) else {}
            parent = made_by.get(block.get("tool_use_id", ""), last)
            last = f"line-{len(rows)}"
            if block.get("type") == "tool_use":
                made_by[block["id"]] = last
            row = {"parentUuid": parent, "isSidechain": False, "sessionId": "session-1"}
            rows.append(row | {"type": message["role"], "message": message, "uuid": last})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _claude_messages(fact: Fact, number: int, model: str) -> list[Native]:
    if fact.kind == USER:
        return [{"role": USER, "content": fact.text}]
    if fact.kind == TOOL:
        return [{"role": USER, "content": [_anthropic_result(fact)]}]
    head = {"id": f"message-{number}", "type": "message", "role": ASSISTANT, "model": model}
    return [head | {"content": [block]} for block in _anthropic_blocks(fact)]


class Writer(NamedTuple):
    """How a format is written, and what it has no words for."""

    write: Callable[[Conversation], Any]
    lacks: tuple[str, ...] = ()


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "entries": Writer(_entries, (REASONING,)),
        "anthropic": Writer(_anthropic, (LEADING_SYSTEM,)),
        "openai-chat": Writer(_openai_chat, (IMAGES, LEADING_SYSTEM)),
        "claude-code": Writer(_claude_code, (SYSTEM_TURNS,)),
        "openai-responses": Writer(openai_responses, (LEADING_SYSTEM,)),
        "gemini": Writer(gemini, (SYSTEM_TURNS,)),
        "bedrock": Writer(bedrock, (LEADING_SYSTEM,)),
    }
)
"""Format name → its writer."""
