"""tau-bench results: an array, or lines, of trials `{task_id, trial, reward, info, traj}`.

A trial is a conversation in the shape of Chat Completions. The tools that were sent with it, and
usage, are not in the file. Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from compactor.core.model import Entry, Reading
from compactor.formats.chat_story import CHAT, is_chat
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import field
from compactor.formats.placed import Listing, placed, read_placed
from compactor.formats.raw.native import Edit
from compactor.formats.recorded import items
from compactor.formats.runs import Run, chosen, named, others

_MESSAGES = "traj"


class TauBench(RunLens):
    """The lens of tau-bench results.

    Args:
        thread: a trial, one of `threads(root)`; "" is the first.
    """

    name = "tau-bench"

    def recognises(self, root: Any) -> bool:
        return any(map(_is_trial, root if isinstance(root, list) else [root]))

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads one trial. O(the file).

        Raises:
            InputError: `input.shape` when there is no trial, or no such thread.
        """
        runs = _trials(root)
        run = chosen(runs, self.thread, root)
        messages = placed(items(field(run.native, _MESSAGES)), (*run.at, _MESSAGES))
        reading = read_placed(Listing(CHAT, {}, messages))
        reading.overhead = msgspec.structs.replace(reading.overhead, known=False)
        reading.findings += [] if self.thread else others(runs)
        return reading

    def runs(self, root: Any) -> Sequence[Run]:
        return _trials(root)

    def messages(self, root: Any) -> Sequence[Any]:
        return items(field(chosen(_trials(root), self.thread, root).native, _MESSAGES))

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return CHAT.rewrite_body(root, entry, text)


def _is_trial(row: Any) -> bool:
    return field(row, "task_id") is not None and is_chat(field(row, _MESSAGES))


def _trials(root: Any) -> list[Run]:
    """Trials by task and trial, which the file numbers."""
    rows = enumerate(root) if isinstance(root, list) else [(None, root)]
    found = (
        Run(trial_name(row), () if index is None else (index,), row)
        for index, row in rows
        if _is_trial(row)
    )
    return named(found, root)


def trial_name(row: Any) -> str:
    """The name of a trial of a task."""
    task, trial = (field(row, key) for key in ("task_id", "trial"))
    numbered = "" if trial is None else f"/trial-{trial}"
    return f"task-{task}{numbered}"
