"""SWE-agent trajectories (`.traj`), from the first ones to those with tool calls.

An observation is a tool result whatever role it has: the message behind an action answers it, and
says so by its place. Without tool calls an action is a call by the name of its command, the first
word; its text stands in the message and is counted there, so the call has no arguments. The text
that ends an observation (open file, directory) was sent with it and belongs to the body. What a
demonstration holds is an example and stays. Copies in `trajectory` that are in no prompt are never
touched. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.blocks import block_part, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.chat_story import CHAT, texts_of
from compactor.formats.harnesses.swe_agent_history import Line, is_run, live, runs_of
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import SYSTEM_ROLES, Carried, field, listed, text_field, value_at
from compactor.formats.providers.anthropic import READERS as ANTHROPIC
from compactor.formats.providers.openai_chat import READERS
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.json_text import NotJsonError, read_value
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import cleared, count_of, has_tokens, items, unanswered
from compactor.formats.runs import Run, chosen, others

_TURN, _RESULT, _PROMPT = "assistant", "tool", "user"
_COMMAND: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)(?:\s|$)", re.ASCII)
ACTION: Final = "action"
"""The name of a call whose command has none."""
_KEPT = ("cache_control",)


class SweAgent(RunLens):
    """The lens of SWE-agent trajectories (`.traj`).

    Args:
        thread: a subroutine's agent or another attempt, one of `threads(root)`; "" is the main one.
    """

    name = "swe-agent"

    def recognises(self, root: Any) -> bool:
        if not isinstance(root, dict) or "trajectory_format" in root:
            return False
        return is_run(root) or any(map(is_run, items(root.get("attempts"))))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew: a later prompt shows other messages. O(n).

        Raises:
            InputError: `input.shape` when it is no trajectory, or there is no such thread.
        """
        runs = runs_of(root)
        run = chosen(runs, self.thread)
        story = _Story()
        story.tell_all(run)
        entries = story.builder.entries
        return Reading(
            entries=entries,
            overhead=Overhead(tuple(filter(None, story.system)), known=not story.has_tools),
            carried=Carried(tuple(filter(None, story.system))),
            findings=[
                *story.builder.findings,
                *unanswered(entries),
                *cleared(sum(entry.cleared for entry in entries)),
                *_unseen(run),
                *([] if self.thread else others(runs)),
            ],
            model=_model(run.native),
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return runs_of(root)

    def all_usage(self, root: Any) -> list[Usage]:
        """The sums that a run ends with; those of replayed runs are empty."""
        natives = [root] if is_run(root) else items(field(root, "attempts"))
        sums = [_usage(native) for native in natives]
        return [usage for usage in sums if has_tokens(usage)]

    def messages(self, root: Any) -> Sequence[Any]:
        run = chosen(runs_of(root), self.thread)
        return [line.message for line in live(run)] or items(field(run.native, "trajectory"))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        native = value_at(root, entry.at)
        key = "observation" if field(native, "content") is None else "content"
        return blocks.rewrite_content(field(native, key), (*entry.at, key), text, _KEPT)


def command_of(action: str) -> str:
    """The name of the command that an action begins with."""
    match = _COMMAND.match(action)
    return match[1] if match else ACTION


class _Story:
    """Tells the messages of a run to a builder.

    system: texts of the leading system message.
    has_tools: the model was given tools, which are not in the file.
    """

    def __init__(self) -> None:
        self.builder = Builder()
        self.system: list[str] = []
        self.has_tools = False
        self._action: Call | None = None

    def tell_all(self, run: Run) -> None:
        lines = live(run)
        for line in lines:
            self._line(line)
        if not lines:
            self._steps(items(field(run.native, "trajectory")), (*run.at, "trajectory"))

    def _line(self, line: Line) -> None:
        message, at = line.message, line.at
        role, content = field(message, "role"), field(message, "content")
        action, self._action = self._action, None
        if role == _TURN:
            self._turn(message, at)
        elif role == _RESULT or (role == _PROMPT and action is not None):
            self._result(line, action)
        elif role == _PROMPT:
            self.builder.user(content_parts(self.builder, content, (*at, "content"), READERS), at)
        elif role in SYSTEM_ROLES and not self.builder.size:
            self.system += texts_of(content)
        elif role in SYSTEM_ROLES:
            self.builder.system(content_parts(self.builder, content, (*at, "content"), READERS), at)
        else:
            self.builder.report("unknown_line", "not a message of a run", dotted(at))

    def _turn(self, message: Any, at: Path) -> None:
        """What the model said. An action without tool calls is a call that the next one answers."""
        thinking, inner = field(message, "thinking_blocks"), (*at, "thinking_blocks")
        reasoning = [
            block_part(self.builder, block, (*inner, index), ANTHROPIC)
            for index, block in enumerate(listed(thinking))
        ]
        if reasoning:
            self.builder.turn(reasoning, (), at)
        CHAT.message(self.builder, message, at)
        if items(field(message, "tool_calls")):
            self.has_tools = True
        elif isinstance(field(message, "action"), str) and not _is_example(message):
            self._action = self._say_action(message["action"], at)

    def _say_action(self, action: str, at: Path) -> Call:
        call = Call("", command_of(action), "", (*at, "action"))
        self.builder.turn((), [call], at)
        return call

    def _result(self, line: Line, action: Call | None) -> None:
        content, at = field(line.message, "content"), (*line.at, "content")
        texts, rest, is_odd = result_facts(self.builder, content, at, READERS)
        ids = listed(field(line.message, "tool_call_ids"))
        self.builder.result(
            next((i for i in ids if isinstance(i, str)), ""),
            () if line.is_cleared else texts,
            () if line.is_cleared else rest,
            line.at,
            required=is_odd or _is_example(line.message),
            cleared=line.is_cleared,
            call=action,
            orphan_path=dotted(line.at),
        )

    def _steps(self, steps: Sequence[Any], at: Path) -> None:
        """A run of which only the steps are there: what the model said, and what came back."""
        for index, step in enumerate(steps):
            here = (*at, index)
            said = text_field(step, "response") or text_field(step, "thought")
            self.builder.turn([Part(PartKind.TEXT, said)], (), here)
            call = self._say_action(text_field(step, "action"), here)
            texts = [text_field(step, "observation")]
            self.builder.result("", texts, (), here, call=call)


def _is_example(message: Any) -> bool:
    return field(message, "is_demo") is True


def _config(native: Any) -> Any:
    """The settings that a run can be replayed with: an object, in newer files its JSON."""
    config = field(native, "replay_config")
    if not isinstance(config, str):
        return config
    try:
        return read_value(config, 0)[0]
    except NotJsonError:
        return None


def _model(native: Any) -> str:
    """The name of the model, unless a human or a recording took its place."""
    name = text_field(field(field(_config(native), "agent"), "model"), "name")
    return "" if name in _NO_MODELS else name


_NO_MODELS = ("human", "human_thought", "replay", "instant_empty_submit")


def _unseen(run: Run) -> Iterator[Finding]:
    """Say that observations were elided in prompts that are not in the file."""
    agent = field(_config(run.native), "agent")
    settings = [*listed(field(agent, "history_processors")), field(agent, "history_processor")]
    is_elided = any(field(each, "type") in _ELIDING for each in settings)
    if is_elided and all(line.at[len(run.at)] == "history" for line in live(run)):
        message = "the harness elided old observations in its prompts, which are not in the file"
        yield Finding("cleared_unseen", message)


_ELIDING = ("last_n_observations", "closed_window", "remove_regex")


def _usage(native: Any) -> Usage:
    """The sums of a run; what was cached is a part of `tokens_sent`."""
    stats = field(field(native, "info"), "model_stats")
    return Usage(
        n=0,
        input=count_of(stats, "tokens_sent"),
        output=count_of(stats, "tokens_received"),
        model=_model(native),
        requests=count_of(stats, "api_calls"),
    )
