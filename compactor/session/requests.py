"""The requests of a session: laid over what is kept, decided on, and stored before they are sent.

The only part of a session that decides passes. All that a request tells is decided first and then
written as one transaction; what another process wrote meanwhile is decided over again
(`Kept.decide`). Specification: DESIGN sections 5 to 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from compactor.core.count import Counter
from compactor.core.departure import departure, surviving
from compactor.core.fold import Fold
from compactor.core.journal import Journal, active
from compactor.core.policy import Policy
from compactor.core.records import AnyRecord
from compactor.core.resume import learn
from compactor.core.view import View, view_of
from compactor.formats.lens import Revisions
from compactor.loop import loop
from compactor.models import ModelTable
from compactor.request import Asked, Outcome, Own, decide_over, read_request, stand
from compactor.session import definitions
from compactor.session.branch import Matched, lay
from compactor.session.given_back import GivenBack, Known
from compactor.session.kept import Kept, stored
from compactor.store import StoredEntry, Transaction
from compactor.transcript import Transcript

_New = tuple[Matched, list[StoredEntry]]
"""A request laid over the branch, and what of it is to be stored."""


class Requests:
    """What a session knows by the requests that it was handed.

    Args:
        kept: what the session knows.
        session: its name, for the journal's header.
        format: of requests; None looks at each.
        counter, models: as for `compactor.compact`.

    Attributes:
        policy: what to keep and when to act, from the next request on.
        last: what became of the last request; None before the first of this process.
    """

    def __init__(
        self,
        kept: Kept,
        session: str,
        policy: Policy,
        format: str | None,  # noqa: A002
        counter: Counter | None,
        models: ModelTable | None,
    ) -> None:
        self.policy = policy
        self.last: Outcome | None = None
        self._kept = kept
        self._session = session
        self._format = format
        self._counter = counter
        self._models = models
        self._about: tuple[str, str] | None = None

    def prepare(self, request: Any, asked: Asked) -> Outcome:
        """Lay the request over the branch, decide, and have all of it on the disk."""
        kept = self._kept

        def decide() -> tuple[Outcome, str, _New]:
            given = read_request(request, kept.take_workings(), self._format)
            matched = self._laid(given.transcript)
            own = Own(
                matched.entries, matched.labels, kept.text_of_result, matched.carried, self._session
            )
            outcome = decide_over(
                given, self.policy, Journal(kept.records), self._asked(asked), own
            )
            new = matched, stored(matched, definitions.is_recall)
            return outcome, given.transcript.format, new

        def write(tx: Transaction, decided: tuple[Outcome, str, _New]) -> None:
            outcome, format_name, new = decided
            kept.keep(tx, *new)
            state = kept.state.prepared_at(tx.next_number)
            added = outcome.journal.records[len(kept.records) :]
            if added:
                kept.record(tx, *added)
                state = state.fallen(outcome.report.tokens_after, outcome.report.window)
            kept.put(tx, state)
            self._describe(tx, format_name, outcome)
            kept.then(lambda: kept.work_on(outcome.journal))

        outcome, *_ = kept.decide(decide, write)
        self.last = outcome
        return outcome

    def observe(self, request: Any) -> None:
        """Store what is new in a request, and decide nothing."""
        kept = self._kept

        def decide() -> _New:
            matched = self._laid(read_request(request, None, self._format).transcript)
            return matched, stored(matched, definitions.is_recall)

        def write(tx: Transaction, new: _New) -> None:
            kept.keep(tx, *new)
            kept.put(tx, kept.state.counted(0))

        kept.decide(decide, write)

    def stand(self, records: Sequence[AnyRecord] | None = None) -> tuple[Fold, list[AnyRecord]]:
        """The fold over the branch as it is, and the journal's records, begun if need be.

        Args:
            records: of another journal; None stands for the session's as it is.
        """
        kept = self._kept
        fold = kept.fold() if records is None else None
        if fold is not None and fold.labels == kept.branch.seqs:
            if learn(fold, kept.records):
                return fold, kept.records
            kept.forget()
        entries, labels = kept.entries(), kept.branch.seqs
        own = Own(entries, labels, kept.text_of_result, frozenset(), self._session)
        journal = Journal(kept.records if records is None else records)
        resumed = stand(journal, self.policy, self._asked(Asked()), own)
        return resumed.fold, resumed.records

    def settled(self, tx: Transaction) -> tuple[Fold, Sequence[AnyRecord]]:
        """The same, the journal with its header: what was observed may depart from it."""
        kept, (fold, records) = self._kept, self.stand()
        kept.record(tx, *records[len(kept.records) :])
        return fold, records

    def begun(self, tx: Transaction) -> Sequence[AnyRecord]:
        """The journal where it has begun, fitting the branch; else none."""
        return self.settled(tx)[1] if self._kept.begun else ()

    def _asked(self, asked: Asked) -> Asked:
        """What is asked, and what the session says each time."""
        state = self._kept.state
        return asked._replace(
            counter=self._counter,
            models=self._models,
            recallable=not state.recall_off,
            pins=state.pins,
        )

    def _laid(self, transcript: Transcript) -> Matched:
        """A request over the branch.

        Where it departs from what records speak of, those fall; a text that only they showed is no
        longer ours, and stands as the harness gave it.
        """
        kept = self._kept
        matched = self._lay(transcript, kept.view(), kept.ours())
        if matched.keep == len(kept.branch):
            return matched
        departed = departure(matched.entries, kept.records, loop().reasoning.removed)
        if departed is None:
            return matched
        standing = active(kept.records).records
        stay = standing[: surviving(standing, departed)]
        return self._lay(transcript, view_of(stay), GivenBack(stay))

    def _lay(self, transcript: Transcript, view: View, ours: GivenBack) -> Matched:
        kept, lens = self._kept, transcript.lens
        known = Known(kept.branch.digests, view.known, kept.entry_at, ours)
        block_of = partial(lens.block_of, transcript.root) if isinstance(lens, Revisions) else None
        return lay(transcript.entries, kept.branch, view, kept.next_seq, known, block_of)

    def _describe(self, tx: Transaction, format_name: str, outcome: Outcome) -> None:
        """What lists of sessions say."""
        header = outcome.journal.header
        about = (format_name, header.model if header else "")
        if about != self._about:
            tx.put_about(format_name=about[0], model=about[1])
            self._about = about
