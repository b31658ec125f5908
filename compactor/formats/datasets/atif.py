"""ATIF trajectories (Harbor's `trajectory.json`, v1.0 to v1.8), alone or several in one file.

A step is a message; an agent's step holds calls and the results beside them. A result without
`source_call_id` answers the step's calls: each its own where there are as many, else it is what all
of them gave together and stands for the first. A step whose `context_management` replaces the
context hides what lies before it, unless the trajectory ends there. `prompt_tokens` include what
was cached. Copied context was counted in another file. Sources: Harbor's RFC 0001 and its models.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from compactor.core.errors import Finding
from compactor.core.model import Call, Entry, Overhead, Part, PartKind, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.blocks import Readers, content_parts, result_facts
from compactor.formats.builder import Builder
from compactor.formats.lens_bases import RunLens
from compactor.formats.media import document_part, image_url_part
from compactor.formats.messages import Carried, field, listed, overhead_of, text_field, value_at
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.raw.edits import dotted
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import compacted, count_of, items, time_ms, unanswered
from compactor.formats.runs import Run, chosen, named, others

_SCHEMA = "ATIF-"
_AGENT, _USER, _SYSTEM = "agent", "user", "system"
_EMBEDDED = "subagent_trajectories"
_WRITTEN = ("cache_creation_input_tokens", "cache_write_input_tokens", "cache_write_tokens")
_WRITTEN_BESIDE = ("mimo", "openclaw", "opencode")
"""Agents whose converters leave what was written to a cache out of `prompt_tokens`."""


class Atif(RunLens):
    """ATIF trajectories, as Harbor and others write them (`trajectory.json`).

    Args:
        thread: one of `threads(root)`: an embedded subagent, or another trajectory of the file; ""
            is the first.
    """

    name = "atif"

    def recognises(self, root: Any) -> bool:
        return any(True for _ in _runs(root))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n).

        Raises:
            InputError: `input.shape` when it holds no trajectory, or there is no such thread.
        """
        runs = named(_runs(root))
        run = chosen(runs, self.thread)
        story = _Story(run.native, run.at)
        return Reading(
            entries=story.builder.entries,
            overhead=story.overhead(),
            carried=story.carried(),
            findings=[*story.findings(), *others(runs)],
            model=story.model,
            usage=tuple(story.usage),
        )

    def messages(self, root: Any) -> Sequence[Any]:
        """The steps of the thread."""
        run = chosen(named(_runs(root)), self.thread)
        return items(field(run.native, "steps"))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        content = field(value_at(root, entry.at), "content")
        return blocks.rewrite_content(content, (*entry.at, "content"), text, ())

    def runs(self, root: Any) -> Sequence[Run]:
        return named(_runs(root))

    def all_usage(self, root: Any) -> list[Usage]:
        """Of every step that has it; where none has, the sums of each trajectory."""
        runs = list(_runs(root))
        steps = [
            usage
            for run in runs
            for step in items(field(run.native, "steps"))
            if (usage := _usage(step, run.native, 0)) is not None
        ]
        return steps or [sums for run in runs for sums in _sums(run.native)]


def _runs(root: Any) -> Iterator[Run]:
    """The trajectories of a file, each before the subagents that it embeds."""
    tops = enumerate(root) if isinstance(root, list) else [(-1, root)]
    for index, top in tops:
        at: Path = (index,) if index >= 0 else ()
        waiting = [(at, top, _top_name(top, at))]
        while waiting:
            at, native, name = waiting.pop()
            if not _is_trajectory(native):
                continue
            yield Run(name, at, native)
            inner = enumerate(items(field(native, _EMBEDDED)))
            found = [
                ((*at, _EMBEDDED, i), sub, text_field(sub, "trajectory_id")) for i, sub in inner
            ]
            waiting += reversed(found)


def _top_name(native: Any, at: Path) -> str:
    return text_field(native, "trajectory_id") or text_field(native, "session_id") if at else "main"


def _is_trajectory(native: Any) -> bool:
    return text_field(native, "schema_version").startswith(_SCHEMA) and isinstance(
        field(native, "steps"), list
    )


class _Story:
    """Tells the steps of a trajectory to a builder."""

    def __init__(self, native: Any, at: Path) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = text_field(field(native, "agent"), "model_name")
        self._native = native
        self._system: list[str] = []
        self._joined: set[Path] = set()
        self._elsewhere = 0
        self._steps, self._base = items(native["steps"]), (*at, "steps")
        self._start = _boundary(self._steps)
        lead = sum(1 for _ in takewhile(_leads, self._steps))
        for index, step in enumerate(self._steps):
            here = (*self._base, index)
            if index < lead:
                self._lead(step, here)
            elif index >= self._start:
                self._tell(step, here)

    def carried(self) -> Carried:
        """Leading system steps, and tool definitions where they are recorded."""
        tools = field(field(self._native, "agent"), "tool_definitions")
        return Carried(tuple(filter(None, self._system)), tuple(listed(tools)), tools is not None)

    def overhead(self) -> Overhead:
        """The texts of what is carried."""
        return overhead_of(OpenAIChat(), self.carried())

    def findings(self) -> Iterator[Finding]:
        """What was strange, and what lies elsewhere."""
        yield from self.builder.findings
        answered = frozenset(dotted(at[:-1]) for at in self._joined)
        for finding in unanswered(self.builder.entries):
            if finding.path not in answered:
                yield finding
        yield from compacted(self._start, "steps")
        if self._elsewhere:
            message = f"{self._elsewhere} trajectories of subagents are in other files"
            yield Finding("subagents_elsewhere", message)
        following = text_field(self._native, "continued_trajectory_ref")
        if following:
            yield Finding("continued_elsewhere", f"the trajectory goes on in {following[:200]}")

    def _lead(self, step: Any, at: Path) -> None:
        """A system step at the very start is overhead."""
        parts = content_parts(self.builder, field(step, "message"), (*at, "message"), READERS)
        self._system += [part.text for part in parts]

    def _tell(self, step: Any, at: Path) -> None:
        """Say one step."""
        source = field(step, "source")
        if source not in (_AGENT, _USER, _SYSTEM):
            self.builder.report("unknown_line", "not a step of a trajectory", dotted(at))
        elif _replaces(step):
            found = self._beside(step, at)
            if found:
                self.builder.system(found, at)
        elif source == _AGENT:
            self._turn(step, at)
        else:
            parts = content_parts(self.builder, field(step, "message"), (*at, "message"), READERS)
            say = self.builder.user if source == _USER else self.builder.system
            say([*parts, *self._beside(step, at)], at)

    def _beside(self, step: Any, at: Path) -> list[Part]:
        """What a step that made no calls got from the harness: context, as a summary."""
        found: list[Part] = []
        for index, result in enumerate(_results(step)):
            content, inner = field(result, "content"), (*at, *_RESULTS, index, "content")
            self._note(result)
            found += content_parts(self.builder, content, inner, READERS)
        return found

    def _turn(self, step: Any, at: Path) -> None:
        parts = [Part(PartKind.REASONING, text_field(step, "reasoning_content"))]
        parts += content_parts(self.builder, field(step, "message"), (*at, "message"), READERS)
        calls = _calls(step, at)
        n = self.builder.size
        if (
            calls
            or any(part.text or part.kind is not PartKind.TEXT for part in parts[1:])
            or (parts[0].text)
        ):
            self.builder.turn(parts, calls, at)
            n = self.builder.size - 1
        self.model = text_field(step, "model_name") or self.model
        usage = _usage(step, self._native, n)
        self.usage += [usage] if usage is not None else []
        self._answer(step, calls, at)

    def _answer(self, step: Any, calls: Sequence[Call], at: Path) -> None:
        """The results of an agent's step, each with its call."""
        results = _results(step)
        ids = {text_field(result, "source_call_id") for result in results}
        free = [call for call in calls if call.id not in ids]
        bare = sum(not text_field(result, "source_call_id") for result in results)
        told = 0
        for index, result in enumerate(results):
            self._note(result)
            call_id = text_field(result, "source_call_id")
            call = None
            if not call_id and free:
                call = free[told] if len(free) == bare else free[0]
                told += 1
            self._result(result, call, (*at, *_RESULTS, index))
        if bare and bare != len(free):
            self._joined.update(call.at for call in free)

    def _result(self, result: Any, call: Call | None, at: Path) -> None:
        call_id, content = text_field(result, "source_call_id"), field(result, "content")
        if content is None and not call_id:
            return
        texts, rest, is_odd = result_facts(self.builder, content, (*at, "content"), READERS)
        self.builder.result(
            call_id or (call.id if call is not None else ""),
            texts,
            rest,
            at,
            error=field(field(result, "extra"), "is_error") is True,
            required=is_odd,
            call=call,
            orphan_path=dotted(at) if call_id else "",
        )

    def _note(self, result: Any) -> None:
        """Subagents whose trajectories are files of their own."""
        refs = items(field(result, "subagent_trajectory_ref"))
        self._elsewhere += sum(bool(text_field(ref, "trajectory_path")) for ref in refs)


_RESULTS = ("observation", "results")


def _results(step: Any) -> list[Any]:
    return items(field(field(step, "observation"), "results"))


def _calls(step: Any, at: Path) -> list[Call]:
    return [
        Call(
            text_field(native, "tool_call_id"),
            text_field(native, "function_name"),
            blocks.arguments_text(field(native, "arguments")),
            (*at, "tool_calls", index, "arguments"),
        )
        for index, native in enumerate(items(field(step, "tool_calls")))
        if isinstance(native, dict)
    ]


def _leads(step: Any) -> bool:
    """Whether a step at the very start is a system prompt."""
    return field(step, "source") == _SYSTEM and not _replaces(step)


def _replaces(step: Any) -> bool:
    """Whether what lies before a step is not in the prompt any more."""
    management = field(field(step, "extra"), "context_management")
    return bool(field(management, "boundary") == "replace")


def _boundary(steps: Sequence[Any]) -> int:
    """Index of the last step that replaced the context, with steps behind it; 0 without one."""
    found = [index for index, step in enumerate(steps[:-1]) if _replaces(step)]
    return found[-1] if found else 0


def _usage(step: Any, native: Any, n: int) -> Usage | None:
    """Recorded usage of a step; what was copied was counted before."""
    metrics, agent = field(step, "metrics"), field(native, "agent")
    if not isinstance(metrics, dict) or field(step, "is_copied_context") is True:
        return None
    prompt, read = count_of(metrics, "prompt_tokens"), count_of(metrics, "cached_tokens")
    extra = metrics.get("extra")
    write = next(filter(None, (count_of(extra, key) for key in _WRITTEN)), 0)
    beside = write if text_field(agent, "name") in _WRITTEN_BESIDE else 0
    return Usage(
        n=n,
        input=max(prompt - read - write + beside, 0),
        cache_read=read,
        cache_write=write,
        output=count_of(metrics, "completion_tokens"),
        model=text_field(step, "model_name") or text_field(agent, "model_name"),
        time_ms=time_ms(field(step, "timestamp")),
        requests=max(count_of(step, "llm_call_count"), 1),
    )


def _sums(native: Any) -> Iterator[Usage]:
    """The totals of a trajectory."""
    totals = field(native, "final_metrics")
    prompt, read = count_of(totals, "total_prompt_tokens"), count_of(totals, "total_cached_tokens")
    output = count_of(totals, "total_completion_tokens")
    if prompt or output:
        turns = [step for step in items(field(native, "steps")) if field(step, "source") == _AGENT]
        own = sum(field(step, "is_copied_context") is not True for step in turns)
        model = text_field(field(native, "agent"), "model_name")
        uncached = max(prompt - read, 0)
        yield Usage(0, uncached, read, 0, output, model, requests=max(own, 1))


def _image(part: Any) -> Part:
    return image_url_part(text_field(field(part, "source"), "path") or compact_json(part))


def _audio(part: Any) -> Part:
    return document_part(text_field(field(part, "source"), "path") or compact_json(part))


READERS: Readers = MappingProxyType({"image": _image, "audio": _audio})
