"""mini-SWE-agent trajectories (`.traj.json` with a `trajectory_format`).

Messages are those of Chat Completions or of the Responses API, with what the agent notes in
`extra`: the commands it took out of a model's message, and what a command gave. So a user message
is a tool result where `extra` says that a command gave it. The first version notes nothing: there
the message behind one fenced command answers it, unless it begins with the words in which the agent
passes on what a person said. A command without a tool call has its text in the message, and no
arguments. `role: "exit"` is never sent. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from compactor.core.model import Call, Entry, Overhead, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.answers import usage_of
from compactor.formats.blocks import block_part, result_facts
from compactor.formats.chat_story import ChatStory, is_chat, texts_of
from compactor.formats.lens_bases import AddressedCalls
from compactor.formats.messages import Carried, field, listed, shape_error, text_field, value_at
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.providers.openai_chat import READERS
from compactor.formats.providers.responses_items import ITEMS, MESSAGE, say_item
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import has_tokens, items, time_ms, unanswered

_MARK, _FIRST = "trajectory_format", "mini-swe-agent-1"
_TOOL = "bash"
_RESPONSE, _EXIT, _TURN, _PROMPT = "response", "exit", "assistant", "user"
_COMMAND: Final = re.compile(r"```(?:bash|mswea_bash_command)\s*\n|<mswea_bash_command>")
_OF_A_PERSON = (
    "Interrupted by user: ",
    "Command not executed. ",
    "The user added a new task: ",
)
_GIVEN = ("raw_output", "returncode", "exception_info")
"""What `extra` has of a command that was run."""


class MiniSweAgent(AddressedCalls):
    """The lens of mini-SWE-agent trajectories (`trajectory_format` `mini-swe-agent-1` and 1.x)."""

    name = "mini-swe-agent"

    def recognises(self, root: Any) -> bool:
        return text_field(root, _MARK).startswith("mini-swe-agent") and isinstance(
            field(root, "messages"), list
        )

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. A bare list of messages, when it is said to be one, is a first one. O(n).

        Raises:
            InputError: `input.shape` when it is no trajectory.
        """
        if not self.recognises(root) and not is_chat(root):
            raise shape_error((), "no trajectory of mini-SWE-agent")
        story = _Story(root)
        base = () if isinstance(root, list) else ("messages",)
        for index, message in enumerate(self.messages(root)):
            story.tell(message, (*base, index))
        entries = story.chat.builder.entries
        return Reading(
            entries=entries,
            overhead=Overhead(tuple(filter(None, story.chat.system)), known=not story.has_tools),
            carried=Carried(tuple(filter(None, story.chat.system))),
            findings=[*story.chat.builder.findings, *unanswered(entries)],
            model=story.model,
            usage=tuple(story.usage),
        )

    def all_usage(self, root: Any) -> list[Usage]:
        """Usage of every response that is in the file; without any, nothing but money is summed."""
        found = (_usage(message, 0, _model(root)) for message in self.messages(root))
        return [usage for usage in found if usage is not None]

    def messages(self, root: Any) -> Sequence[Any]:
        return root if isinstance(root, list) else items(field(root, "messages"))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        native = value_at(root, entry.at)
        key, kind = ("content", "text") if field(native, "output") is None else _OUTPUT
        return blocks.rewrite_content(
            field(native, key), (*entry.at, key), text, ("cache_control",), kind
        )


_OUTPUT = ("output", "input_text")


class _Story:
    """Tells the messages of a run to a builder.

    has_tools: the model was given a tool, which is not in the file.
    """

    def __init__(self, root: Any) -> None:
        self.chat = ChatStory()
        self.usage: list[Usage] = []
        self.model = _model(root)
        self.has_tools = False
        self._is_first = isinstance(root, list) or text_field(root, _MARK) == _FIRST
        self._asked: deque[Call] = deque()

    def tell(self, message: Any, at: Path) -> None:
        """Say one message."""
        role, builder = field(message, "role"), self.chat.builder
        if field(message, "object") == _RESPONSE:
            self._response(message, at)
        elif role == _TURN:
            self._turn(message, at)
        elif isinstance(field(message, "type"), str):
            self._note(message, builder.size)
            self._item(message, at)
        elif role == _PROMPT and self._asked and self._was_given(message):
            content, inner = field(message, "content"), (*at, "content")
            texts, rest, is_odd = result_facts(builder, content, inner, READERS)
            call = self._asked.popleft()
            builder.result("", texts, rest, at, required=is_odd, call=call)
        elif role != _EXIT:
            self._note(message, builder.size)
            if role == _PROMPT:
                self._asked.clear()
            self.chat.tell(message, at)

    def _turn(self, message: Any, at: Path) -> None:
        builder = self.chat.builder
        thinking, inner = field(message, "thinking_blocks"), (*at, "thinking_blocks")
        if not text_field(message, "reasoning_content"):
            for index, block in enumerate(listed(thinking)):
                builder.turn([block_part(builder, block, (*inner, index), ANTHROPIC)], (), at)
        self.chat.tell(message, at)
        self._asked = deque()
        if items(field(message, "tool_calls")):
            self.has_tools = True
        else:
            self._asked += self._commands(message, at)
        if self._asked:
            builder.turn((), self._asked, at)
        self._note(message, builder.size - 1)

    def _commands(self, message: Any, at: Path) -> list[Call]:
        """The commands that the agent took out of what the model said."""
        if self._is_first:
            text = "".join(texts_of(field(message, "content")))
            is_one = len(_COMMAND.findall(text)) == 1
            return [Call("", _TOOL, "", (*at, "content"))] if is_one else []
        count = len(items(field(field(message, "extra"), "actions")))
        return [Call("", _TOOL, "", (*at, "extra", "actions", i)) for i in range(count)]

    def _was_given(self, message: Any) -> bool:
        """Whether a user message is what a command gave."""
        if not self._is_first:
            return any(key in _keys(field(message, "extra")) for key in _GIVEN)
        text = "".join(texts_of(field(message, "content")))
        return not text.startswith(_OF_A_PERSON)

    def _response(self, message: Any, at: Path) -> None:
        """An answer of the Responses API, whose items are the turn."""
        self.has_tools = True
        for index, item in enumerate(items(field(message, "output"))):
            self._item(item, (*at, "output", index))
        if self.chat.builder.size:
            self._note(message, self.chat.builder.size - 1)

    def _item(self, item: Any, at: Path) -> None:
        kind = text_field(item, "type")
        is_known = kind in ITEMS and (kind != MESSAGE or field(item, "role") in _ROLES)
        if is_known:
            say_item(self.chat.builder, item, at)
        else:
            self.chat.builder.report("unknown_line", "not a message of a run", dotted(at))

    def _note(self, message: Any, n: int) -> None:
        """Keep what a response used; one that was refused was asked for over all that is there."""
        usage = _usage(message, n, self.model)
        if usage is not None and n > 0:
            self.usage.append(usage)


_ROLES = (_TURN, _PROMPT, "system", "developer")


def _keys(native: Any) -> Sequence[str]:
    return list(native) if isinstance(native, dict) else ()


def _model(root: Any) -> str:
    config = field(field(root, "info"), "config")
    return text_field(field(config, "model"), "model_name")


def _usage(message: Any, n: int, model: str) -> Usage | None:
    """Usage of the response that a message holds or came with."""
    extra = field(message, "extra")
    response = message if field(message, "object") == _RESPONSE else field(extra, "response")
    when = field(extra, "timestamp") or field(message, "timestamp") or field(response, "created")
    name = text_field(response, "model") or model
    counts = field(response, "usage")
    usage = usage_of(counts if isinstance(counts, dict) else {}, n, name, time_ms(when))
    return usage if has_tokens(usage) else None
