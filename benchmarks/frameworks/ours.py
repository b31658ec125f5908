"""What our re-statement of a strategy sends: the same messages, request by request."""

from __future__ import annotations

import compactor
from benchmarks.frameworks.story import Message, Story
from compactor.core.model import Entry, Kind, PartKind
from compactor.core.policy import Policy
from compactor.replay import Bench
from compactor.replay.prompt import Shown
from compactor.replay.spelling import spelled
from compactor.replay.strategies import STRATEGIES

ANY = Policy(window=10**9, counter="chars4", counter_scale=1000)


def requests(story: Story, policy: str) -> list[list[Message]]:
    """The messages of each request under a strategy, in order."""
    recording = Bench(compactor.load(story.told().entries(), "entries"), ANY).recording
    given = spelled(policy)
    now: dict[int, Shown] = {}
    found = []
    for asked, step in zip(
        recording.requests, STRATEGIES[given.name](recording, given), strict=True
    ):
        for seq, shown in step.changes.items():
            now.pop(seq, None)
            now |= {} if shown is None else {seq: shown}
        texts = {seq: shown.text or "" for seq, shown in now.items()}
        entries = enumerate(recording.entries[: asked.n])
        found.append([_message(e, texts.get(seq)) for seq, e in entries if texts.get(seq) != ""])
    return found[: len(story.steps)]  # the last would follow the last answer


def _message(entry: Entry, text: str | None) -> Message:
    said = "\n".join(part.text for part in entry.parts if part.kind is PartKind.TEXT)
    if entry.kind is Kind.TOOL:
        return Message("tool", entry.body if text is None else text, call=entry.call_id)
    if text is not None:  # a turn that a summary stands for
        return Message(entry.kind.value, text)
    return Message(entry.kind.value, said, calls=tuple(call.id for call in entry.calls))
