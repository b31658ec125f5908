"""One request's way: read it, decide over it, show it in the caller's own shape.

The shell around the pure core: it picks lens and settings, hands values down, and turns the
decision back. Nothing is read twice: a request's way is lens → `core.compact` → lens. What a
session adds is a value, `Own`. Specification: DESIGN sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from compactor import breakpoints, installed, reasoning
from compactor import models as model_table
from compactor.choose import Chosen, choose, overhead, with_pins
from compactor.core import policy as core_policy
from compactor.core.compact import Decision
from compactor.core.compact import compact as decide
from compactor.core.count import Counter
from compactor.core.departure import begins
from compactor.core.errors import Finding, InputError
from compactor.core.fold import Fold
from compactor.core.frontier import reach
from compactor.core.journal import Journal
from compactor.core.model import Entry, Kind, Overhead, Reading
from compactor.core.policy import resolve
from compactor.core.records import Header
from compactor.core.report import Fate, Report, fates, make_report
from compactor.core.resume import Resumed, resume
from compactor.core.settings import Forced, Settings
from compactor.core.stubs import Stored
from compactor.core.view import View
from compactor.formats.lens import CacheBreakpoints, Lens
from compactor.formats.raw.moved import Moved
from compactor.formats.raw.native import Edit, apply_edits
from compactor.loop import loop
from compactor.models import ModelTable
from compactor.shown import ShownMessages, edits_of
from compactor.transcript import Transcript


class Outcome(msgspec.Struct, frozen=True):
    """What `compact` gives back.

    request: of the same shape and type as what came in; untouched messages are the same objects.
    journal: for the next call.
    headers: HTTP headers that the request also needs.
    report: numbers and findings.
    fates: one `Fate` an entry, when asked for with `explain=True`.
    """

    request: Any
    journal: Journal
    report: Report
    headers: dict[str, str] = {}
    fates: tuple[Fate, ...] = ()


class _Workings(NamedTuple):
    """What a journal carries in memory so that the next call does only new work.

    reading: None when a `Transcript` was handed in, whose own reading nobody may go on from.
    """

    lens: Lens
    reading: Reading | None
    fold: Fold
    shown: ShownMessages


class Given(NamedTuple):
    """A request as it was read.

    workings: of the call before.
    """

    request: Any
    transcript: Transcript
    workings: _Workings | None

    @property
    def entries(self) -> Sequence[Entry]:
        return self.transcript.entries

    @property
    def fold(self) -> Fold | None:
        """What the call before left; read only."""
        return self.workings.fold if self.workings is not None else None


def fold_of(journal: Journal) -> Fold | None:
    """The workings that a journal carries. Only to look at: they grow with the next call."""
    workings: _Workings | None = journal.peek_workings()
    return workings.fold if workings is not None else None


class Asked(NamedTuple):
    """What the caller of one request wants beside the policy; see `compactor.compact`.

    fates: `explain`; breakpoints: `place_breakpoints`.
    forced: make this very pass.
    cold: the provider's cache has expired.
    """

    counter: Counter | None = None
    recallable: bool | None = None
    failed: tuple[str, ...] = ()
    pins: tuple[int, ...] = ()
    overflowed: bool = False
    force: bool = False
    fates: bool = False
    breakpoints: bool = False
    models: ModelTable | None = None
    forced: Forced | None = None
    cold: bool = False


IMAGES_RESET = "anthropic_breakpoints"
"""Rule of caches that start anew when an image goes (providers.md A1)."""
MARKS = {
    "anthropic_breakpoints": True,
    "openai_breakpoints_5_6": True,
    "deepseek_prefix_units": False,
}
"""Rules of caches that are read only from marks → whether `place_breakpoints` sets them."""


class Own(NamedTuple):
    """What a session knows of its conversation.

    entries: all of them; those that the request carries behind one message of ours are the store's.
    labels: their seqs.
    stored: full texts by the number of a result.
    carried: first seqs of the runs that the request shows already.
    name: of the session, for the journal's header.
    """

    entries: Sequence[Entry]
    labels: Sequence[int]
    stored: Stored
    carried: frozenset[int]
    name: str


def read_request(request: Any, journal: Journal | None, format_name: str | None) -> Given:
    """Read a request, going on from the workings that its journal carries.

    Raises:
        InputError: it cannot be read.
    """
    workings = journal.take_workings() if journal is not None else None
    return Given(request, _read(request, format_name, workings), workings)


def decide_over(
    given: Given,
    policy: core_policy.Policy | None,
    journal: Journal | None,
    asked: Asked,
    own: Own | None = None,
) -> Outcome:
    """Decide over a request and show it.

    Raises:
        CompactorError: as `compactor.compact`.
    """
    transcript, workings = given.transcript, given.workings
    header = journal.header if journal is not None else None
    if asked.force and journal is not None and not begins(transcript.entries, journal):
        header = None  # what a foreign journal pins is not ours
    chosen = _chosen(transcript.reading, policy, header, asked)
    settings = _settings(transcript.reading, chosen, asked, own)
    entries: Sequence[Entry] = transcript.entries if own is None else own.entries
    decision = decide(entries, journal or Journal(), settings, given.fold)
    same_lens = workings is not None and workings.lens is transcript.lens
    memo = workings.shown if workings and same_lens else _memo(transcript.lens)
    carried = own.carried if own is not None else frozenset()
    shown = _Showing(given, entries, memo, carried)
    return _outcome(shown, decision, chosen.findings, asked, chosen.cache_rule)


def stand(journal: Journal, policy: core_policy.Policy | None, asked: Asked, own: Own) -> Resumed:
    """The workings over all entries of a session, deciding nothing. O(entries).

    Returns:
        the fold, and the journal's records with a header where it had none.
    """
    reading = Reading(list(own.entries), Overhead(known=True), [])
    chosen = _chosen(reading, policy, journal.header, asked)
    settings = _settings(reading, chosen, asked, own)
    resumed = resume(own.entries, journal, None, settings)
    resumed.stand(own.entries, own.labels)
    return resumed


def _chosen(
    reading: Reading,
    policy: core_policy.Policy | None,
    header: Header | None,
    asked: Asked,
) -> Chosen:
    table = asked.models or model_table.built_in()
    return choose(reading, policy or core_policy.Policy(), header, asked.counter, table)


def _settings(reading: Reading, chosen: Chosen, asked: Asked, own: Own | None) -> Settings:
    """Everything a decision depends on beside the entries and the journal."""
    rule = chosen.cache_rule or ""
    settings = Settings(
        loop=loop(),
        measure=chosen.measure,
        rules=resolve(with_pins(chosen.policy, asked.pins), chosen.facts, loop().compaction),
        overhead=overhead(reading, chosen),
        recallable=chosen.policy.recallable if asked.recallable is None else asked.recallable,
        failed=asked.failed,
        overflowed=asked.overflowed,
        force=asked.force,
        model=chosen.model,
        cold=asked.cold,
        images_reset=rule == IMAGES_RESET,
        marks_only=rule in MARKS and not (asked.breakpoints and MARKS[rule]),
        forced=asked.forced,
    )
    if own is None:
        return settings
    return settings._replace(own=True, labels=own.labels, stored=own.stored, session=own.name)


def show(given: Given, view: View) -> Any:
    """The request as a view has it, in the caller's own shape."""
    memo = _memo(given.transcript.lens)
    return _Showing(given, given.entries, memo, frozenset()).show(view)


def _memo(lens: Lens) -> ShownMessages:
    return ShownMessages(lens, loop().reasoning.removed)


class _Showing(NamedTuple):
    """What it takes to show a view of a request."""

    given: Given
    entries: Sequence[Entry]
    memo: ShownMessages
    carried: frozenset[int]

    def show(self, view: View) -> Any:
        request, transcript = self.given.request, self.given.transcript
        if not isinstance(request, Transcript):
            return self.memo.show(request, self.entries, view, self.carried)
        removed = loop().reasoning.removed
        lens, root = transcript.lens, transcript.root
        edits = edits_of(lens, root, self.entries, view, removed, carried=self.carried)
        return request.with_edits(edits)

    def moved(self, shown: Any) -> Moved:
        """Where things are in what was shown last."""
        return Moved(shown.edits) if isinstance(shown, Transcript) else self.memo.moved


def _read(request: Any, format_name: str | None, workings: _Workings | None) -> Transcript:
    if isinstance(request, Transcript):
        return request
    if format_name is None and workings is not None and _has_told(workings.fold):
        try:  # a conversation keeps its format, so mostly it need not be looked for again
            reading = workings.lens.read(request, workings.reading)
            return Transcript(workings.lens, request, reading)
        except InputError:
            workings = None
    lens = installed.lens(format_name) if format_name else installed.detect(request)
    known = workings.reading if workings is not None and workings.lens is lens else None
    return Transcript(lens, request, lens.read(request, known))


def _has_told(fold: Fold) -> bool:
    """Whether the entries so far are of one format only. Plain texts are the same in several."""
    return any(entry.kind is Kind.TOOL for entry in fold.entries)


def _outcome(
    showing: _Showing,
    decision: Decision,
    findings: tuple[Finding, ...],
    asked: Asked,
    cache_rule: str | None,
) -> Outcome:
    fold, transcript = decision.fold, showing.given.transcript
    lens, root = transcript.lens, transcript.root
    bound = reasoning.bind(transcript, fold)
    edits = bound.edits
    shown = showing.show(fold.view)
    native = _native(shown) if isinstance(lens, CacheBreakpoints) else root
    seen = breakpoints.Request(native, showing.moved(shown), showing.entries, fold.view.hidden)
    places = breakpoints.find(lens, seen, reach(fold))
    if asked.breakpoints:
        placed = breakpoints.place(lens, native, places, cache_rule)
        edits, findings = edits + placed.edits, findings + placed.findings
    reading = None if isinstance(showing.given.request, Transcript) else transcript.reading
    workings = _Workings(lens, reading, fold, showing.memo)
    said = transcript.findings + findings + bound.findings
    return Outcome(
        request=_add_edits(shown, edits),
        journal=Journal(decision.journal.records, workings=workings),
        report=make_report(decision, transcript.format, said, *places.report()),
        headers=bound.headers,
        fates=tuple(fates(fold)) if asked.fates else (),
    )


def _add_edits(shown: Any, edits: list[Edit]) -> Any:
    """What the request needs beside its view."""
    if isinstance(shown, Transcript):
        return shown.with_edits(breakpoints.added(shown.edits, edits))
    return apply_edits(shown, edits)


def _native(shown: Any) -> Any:
    """The native data as shown."""
    return shown.view() if isinstance(shown, Transcript) else shown
