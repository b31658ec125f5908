"""Builds conversations for tests: the same facts, written in each format.

    from compactor.testing import Conversation

    talk = Conversation().user("look").call("bash", {"command": "ls"}, result="a.py")
    out = compactor.compact(talk.anthropic(), policy)

Deterministic: ids are counters, nothing is random. A writer leaves out nothing: what its format has
no words for is an error (`formats` names those that can say it all). Another format is one writer
and one row of `WRITERS`. Specification: DESIGN section 3; law L6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from compactor.core.errors import InputError
from compactor.formats import write
from compactor.formats.talk import Native
from compactor.testing.facts import ASSISTANT, SYSTEM, TOOL, USER, Fact, ToolCall
from compactor.testing.told import claude_code, told

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


class Writer(NamedTuple):
    """How a format is written, and what it has no words for."""

    write: Callable[[Conversation], Any]
    lacks: tuple[str, ...] = ()


def _writer(name: str, *lacks: str) -> Writer:
    """The writer of a format that users write too."""
    put = write.WRITERS[name]
    return Writer(lambda talk: put(told(talk, name)), lacks)


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "entries": _writer("entries", REASONING),
        "anthropic": _writer("anthropic", LEADING_SYSTEM),
        "openai-chat": _writer("openai-chat", IMAGES, LEADING_SYSTEM),
        "claude-code": Writer(claude_code, (SYSTEM_TURNS,)),
        "openai-responses": _writer("openai-responses", LEADING_SYSTEM),
        "gemini": _writer("gemini", SYSTEM_TURNS),
        "bedrock": _writer("bedrock", LEADING_SYSTEM),
    }
)
"""Format name → its writer."""
