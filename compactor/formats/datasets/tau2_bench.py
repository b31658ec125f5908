"""tau2-bench results: `{info, tasks, simulations}`, or one simulation.

A simulation is two conversations, of which the agent's is read: what the user's simulator calls
and gets back (`requestor: "user"`) is in no prompt of the agent. The policy is in the file, but
not the words around it, nor the tools. `usage` of an agent's message is that of the request it
answers; `raw_data`, the response itself, says what was cached. A conversation by voice is ticks of
audio, and is refused. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compactor.core.errors import Finding, InputError
from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.answers import usage_of
from compactor.formats.builder import Builder
from compactor.formats.datasets.tau_bench import trial_name
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import Carried, field, shape_error, text_field
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import has_tokens, items, time_ms, unanswered
from compactor.formats.runs import Run, chosen, named, others

_AGENT, _USER, _RESULT, _SYSTEM = "assistant", "user", "tool", "system"
_MESSAGES, _TICKS, _TOGETHER = "messages", "ticks", "tool_messages"
_SIMULATIONS = "simulations"


class Tau2Bench(RunLens):
    """The lens of tau2-bench results and of single simulations, of text only.

    Args:
        thread: a trial of a task, one of `threads(root)`; "" is the first.
    """

    name = "tau2-bench"

    def recognises(self, root: Any) -> bool:
        if not isinstance(root, dict):
            return False
        if _is_simulation(root):
            return True
        is_result = isinstance(root.get("tasks"), list) and _environment(root) is not None
        return is_result or any(map(_is_simulation, items(root.get(_SIMULATIONS))))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads the agent's conversation of one simulation. O(the file).

        Raises:
            InputError: `input.shape` when there is no simulation in text, or no such thread.
        """
        runs = _simulations(root)
        if not runs:
            raise _no_text(root)
        run = chosen(runs, self.thread)
        story = _Story(root)
        for index, message in enumerate(items(field(run.native, _MESSAGES))):
            story.tell(message, (*run.at, _MESSAGES, index))
        entries = story.builder.entries
        return Reading(
            entries=entries,
            overhead=Overhead(_system(root, run.native)),
            carried=Carried(_system(root, run.native)),
            findings=[
                *story.builder.findings,
                *unanswered(entries),
                *_not_the_agents(story.others),
                *([] if self.thread else others(runs)),
            ],
            model=story.model,
            usage=tuple(story.usage),
        )

    def runs(self, root: Any) -> Sequence[Run]:
        return _simulations(root)

    def all_usage(self, root: Any) -> list[Usage]:
        """Usage of the agent's and of the simulator's requests, in all simulations."""
        models = {role: _model(root, role) for role in (_AGENT, _USER)}
        messages = (m for run in _simulations(root) for m in items(field(run.native, _MESSAGES)))
        found = (_usage(m, 0, models.get(text_field(m, "role"), "")) for m in messages)
        return [usage for usage in found if has_tokens(usage)]

    def messages(self, root: Any) -> Sequence[Any]:
        return items(field(chosen(_simulations(root), self.thread).native, _MESSAGES))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:  # noqa: ARG002
        return [Edit((*entry.at, "content"), text)]


class _Story:
    """Tells the messages of a simulation to a builder, as the agent meets them.

    others: how many messages are the simulator's own.
    """

    def __init__(self, root: Any) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = _model(root, _AGENT)
        self.others = 0

    def tell(self, message: Any, at: Path) -> None:
        """Say one message."""
        role = field(message, "role")
        if role == _AGENT:
            self._turn(message, at)
        elif role == _RESULT and isinstance(field(message, _TOGETHER), list):
            for index, inner in enumerate(message[_TOGETHER]):
                self._result(inner, (*at, _TOGETHER, index))
        elif role == _RESULT:
            self._result(message, at)
        elif role == _USER and field(message, "tool_calls"):
            self.others += 1
        elif role in (_USER, _SYSTEM):
            self.builder.user([_said(message)], at)
        else:
            self.builder.report("unknown_line", "not a message of a simulation", dotted(at))

    def _turn(self, message: Any, at: Path) -> None:
        calls = [
            Call(
                text_field(native, "id"),
                text_field(native, "name"),
                blocks.arguments_text(field(native, "arguments")),
                (*at, "tool_calls", index, "arguments"),
            )
            for index, native in enumerate(items(field(message, "tool_calls")))
        ]
        self.builder.turn([_said(message)], calls, at)
        usage = _usage(message, self.builder.size - 1, self.model)
        if has_tokens(usage):
            self.usage.append(usage)

    def _result(self, message: Any, at: Path) -> None:
        if field(message, "requestor") == _USER:
            self.others += 1
            return
        content = field(message, "content")
        self.builder.result(
            text_field(message, "id"),
            [content] if isinstance(content, str) else (),
            () if content is None or isinstance(content, str) else [blocks.other_part(content)],
            at,
            error=field(message, "error") is True,
            required=content is not None and not isinstance(content, str),
            orphan_path=dotted(at),
        )


def _said(message: Any) -> Part:
    return Part(PartKind.TEXT, text_field(message, "content"))


def _is_simulation(native: Any) -> bool:
    is_one = bool(text_field(native, "id")) and field(native, "task_id") is not None
    return is_one and any(isinstance(field(native, key), list) for key in (_MESSAGES, _TICKS))


def _simulations(root: Any) -> list[Run]:
    """The simulations that are messages, by task and trial."""
    rows: Iterator[tuple[Path, Any]]
    if _is_simulation(root):
        rows = iter([((), root)])
    else:
        simulations = items(field(root, _SIMULATIONS))
        rows = (((_SIMULATIONS, index), native) for index, native in enumerate(simulations))
    return named(
        Run(trial_name(native), at, native)
        for at, native in rows
        if _is_simulation(native) and native.get(_MESSAGES) and not native.get(_TICKS)
    )


def _no_text(root: Any) -> InputError:
    """Why nothing of a file can be read."""
    one = [root] if _is_simulation(root) else items(field(root, _SIMULATIONS))
    if any(isinstance(field(native, _TICKS), list) for native in one):
        message = "a conversation by voice: ticks of audio and transcripts, no list of messages"
        return shape_error((), message, "give a simulation in text (`mode` half_duplex)")
    hint = "simulations may lie in files of their own, in `simulations/`: give one of those"
    return shape_error((_SIMULATIONS,), "there is no simulation in it", hint)


def _model(root: Any, role: str) -> str:
    key = "agent_info" if role == _AGENT else "user_info"
    return text_field(field(field(root, "info"), key), "llm")


def _usage(message: Any, n: int, model: str) -> Usage:
    """Usage of one request: the response's own where it is there, as it tells what was cached."""
    response = field(message, "raw_data")
    counts = field(response, "usage") or field(message, "usage")
    name = text_field(response, "model") or model
    when_ms = time_ms(field(message, "timestamp"))
    return usage_of(counts if isinstance(counts, dict) else {}, n, name, when_ms)


def _system(root: Any, simulation: Any) -> tuple[str, ...]:
    policy = text_field(simulation, "policy") or text_field(_environment(root), "policy")
    return tuple(filter(None, [policy]))


def _environment(root: Any) -> Any:
    return field(field(root, "info"), "environment_info")


def _not_the_agents(count: int) -> list[Finding]:
    message = f"{count} messages are calls and results of the simulated user; no agent saw them"
    return [Finding("not_in_prompt", message)] if count else []
