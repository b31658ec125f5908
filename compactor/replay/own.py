"""Our own policies over a recording: decided by the core, shown request by request.

The core folds once over the recording and decides at each boundary; only where the cache had
expired, or a request was made where no boundary is, is it called for that request. A second fold
shows its records one after the other. O(n) in all, beside what each pass changes. Specification:
DESIGN section 5, docs/replay.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from compactor.core.compact import compact
from compactor.core.errors import PolicyError
from compactor.core.fold import Fold
from compactor.core.journal import Journal
from compactor.core.policy import SPELLING, Policy, Rules, policy_from, resolve
from compactor.core.records import Header, PassRecord, Standing
from compactor.core.settings import Settings
from compactor.loop import loop
from compactor.replay.prompt import Shown
from compactor.replay.recording import Recording, boundaries
from compactor.replay.results import Step
from compactor.replay.spelling import Spelled, whole

NAMES: Final = ("threshold", "priced")
_WORDS: Final = {"true": True, "false": False}


def policy_of(given: Spelled, base: Policy) -> Policy | None:
    """The policy that a spelling names; None where it is no policy of ours.

    Args:
        given: `threshold` or `priced` with settings in the config spelling, or a config file.
        base: what holds where the spelling says nothing.

    Raises:
        PolicyError: `policy.unknown_key`, `policy.range`, or as `load_policy`.
    """
    if given.name in NAMES:
        settings = {SPELLING.get(k, k): _value(v) for k, v in given.settings.items()}
        return _over(base, _read(settings, given.text), trigger=given.name)
    if given.text.endswith((".toml", ".json")):
        from compactor.config import load_policy  # only who has a file pays for its parsers

        return _over(base, load_policy(given.text))
    return None


def _read(settings: dict[str, int | bool | str], place: str) -> Policy:
    """The policy of some settings; whatever is wrong, the error shows how they are spelled."""
    try:
        return policy_from(settings, place)
    except PolicyError as error:
        raise PolicyError(
            error.message,
            code=error.code,
            path=error.path,
            hint=error.hint or "such as priced:keepRecent=16,window=200000,elideInputs=true",
        ) from error


def _value(text: str) -> int | bool | str:
    number = whole(text.removeprefix("-"))
    if number is None:
        return _WORDS.get(text, text)
    return -number if text.startswith("-") else number


def _over(base: Policy, policy: Policy, **more: str) -> Policy:
    """The base with what a policy says that is not the default."""
    said = {
        name: value
        for name, value in msgspec.structs.asdict(policy).items()
        if value != getattr(_PLAIN, name)
    }
    return msgspec.structs.replace(base, **said | more)


_PLAIN: Final = Policy()


def rules_of(recording: Recording, policy: Policy) -> Rules:
    """The numbers that a policy comes to for a recording.

    Raises:
        PolicyError: `policy.model_unknown` without a window.
    """
    facts = recording.model.facts() if recording.model is not None else None
    if policy.window is None and recording.window is not None:
        policy = msgspec.structs.replace(policy, window=recording.window)
    try:
        return resolve(policy, facts, loop().compaction)
    except PolicyError as error:
        if error.code != "policy.model_unknown" or not recording.model_name:
            raise
        raise PolicyError(
            f"model {recording.model_name!r} is not in the model table, so its window is not known",
            code=error.code,
            path="window",
            hint="give --window N",
        ) from error


class Own:
    """What a policy of ours does, request by request.

    Args:
        cold: of each request, whether the cache has expired before it.
        images_reset: taking an image away makes the cache start anew.
        marks_only: see `Settings`.
    """

    def __init__(
        self,
        recording: Recording,
        rules: Rules,
        cold: Sequence[bool],
        *,
        recallable: bool = False,
        images_reset: bool = False,
        marks_only: bool = False,
    ) -> None:
        self._recording = recording
        self._cold = cold
        self._settings = Settings(
            loop=loop(),
            measure=recording.measure,
            rules=rules,
            overhead=recording.overhead,
            recallable=recallable,
            model=recording.model_name,
            images_reset=images_reset,
            marks_only=marks_only,
        )
        self._shown = _Shown(recording, self._settings)

    def __iter__(self) -> Iterator[Step]:
        """The steps, once."""
        records, sent = deque(_decided(self._recording, self._settings, self._cold)), 0
        for asked in self._recording.requests:
            step = Step(tier=self._shown.fold.tier)
            while records and records[0].n <= asked.n:
                step = self._shown.apply(records.popleft(), step, sent)
            sent = asked.n
            yield step

    def folded(self) -> Fold:
        """The fold over what the last request sent, once all steps were taken."""
        requests = self._recording.requests
        self._shown.add_upto(requests[-1].n if requests else 0)
        return self._shown.fold


def _decided(recording: Recording, settings: Settings, cold: Sequence[bool]) -> list[Standing]:
    """The records that the core makes, in order."""
    implied = set(boundaries(recording.entries))
    requests = recording.requests
    asked = [
        (request.n, is_cold)
        for request, is_cold in zip(requests, cold, strict=True)
        if is_cold or request.n not in implied
    ]
    if requests:
        asked.append((requests[-1].n, False))
    journal, fold, last = Journal(), None, -1
    for n, is_cold in asked:
        if n < last:
            continue
        call = settings._replace(cold=is_cold)
        decision = compact(recording.entries[:n], journal, call, fold)
        journal, fold, last = decision.journal, decision.fold, n
    records = (record for record in journal.records if not isinstance(record, Header))
    return [record for record in records if isinstance(record, Standing)]


class _Shown:
    """A fold that shows records, and what each of them changed."""

    def __init__(self, recording: Recording, settings: Settings) -> None:
        self._recording = recording
        self.fold = Fold(
            settings.loop,
            settings.measure,
            settings.rules,
            settings.overhead,
            settings.recallable,
        )
        self._tokens: list[int] = []
        self._number = 0

    def apply(self, record: Standing, step: Step, sent: int) -> Step:
        """Show a record; what it adds to a step. O(entries that it may change).

        Args:
            sent: entries of the request before. A recording may begin late, or lack requests: a
                pass over what none of them had carried changes nothing that was sent.
        """
        fold, tokens = self.fold, self._tokens
        self.add_upto(record.n)
        fold.apply(record)
        self._number += 1
        # A text may have as many tokens as the one in its place had.
        told = {e.seq for e in record.elided} if isinstance(record, PassRecord) else set[int]()
        changed = [s for s in range(record.n) if fold.tokens[s] != tokens[s] or s in told]
        changes = dict(step.changes)
        for seq in changed:
            tokens[seq] = fold.tokens[seq]
            changes[seq] = Shown(tokens[seq], self._text(seq))
        if isinstance(record, PassRecord):
            is_seen = record.first_changed < sent
            tables = {**step.tables, **self._table(record)}
            return Step(changes, step.passes + is_seen, record.anchor, fold.tier, tables)
        return step._replace(changes=changes)

    def add_upto(self, n: int) -> None:
        """Know the entries below n."""
        while self.fold.n < n:
            self.fold.add(self._recording.entries[self.fold.n])
            self._tokens.append(self.fold.tokens[-1])

    def _table(self, record: PassRecord) -> dict[int, int]:
        """The tokens of a pass's table, under its last marker."""
        if not record.elided:
            return {}
        seq, text = record.elided[-1].seq, record.elided[-1].text
        marker = text.partition("\n\n" + loop().table.heading)[0]
        tokens = self.fold.tokens[seq] - self.fold.measure.rewritten(marker)
        return {seq: tokens} if tokens else {}

    def _text(self, seq: int) -> str:
        """What is shown; where that is no result's text, which change made it."""
        text = self.fold.view.bodies.get(seq)
        return f"\x00{self._number}" if text is None else text
