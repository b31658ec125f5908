"""The Python surface: `compact` and `render` on native requests.

The shell around the pure core: it picks lens and settings, hands values down, and turns
the decision back into the caller's own shape. Nothing is read twice: a request's way is lens →
`core.compact` → lens. Specification: DESIGN sections 2 and 5, docs/python.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import msgspec

from compactor import breakpoints, reasoning
from compactor import models as model_table
from compactor.choose import choose, overhead, with_pins
from compactor.core import policy as core_policy
from compactor.core import render as core_render
from compactor.core.compact import Decision
from compactor.core.compact import compact as decide
from compactor.core.count import Counter
from compactor.core.errors import Finding, InputError, JournalError, PolicyError
from compactor.core.fold import Fold
from compactor.core.frontier import reach
from compactor.core.journal import Journal
from compactor.core.model import Kind, Reading
from compactor.core.policy import resolve
from compactor.core.report import Fate, Report, fates, make_report
from compactor.core.resume import Settings, begins
from compactor.core.view import View
from compactor.formats import detect as detect_lens
from compactor.formats import lens as lens_named
from compactor.formats.lens import CacheBreakpoints, Lens
from compactor.formats.native import Edit, apply_edits
from compactor.loop import loop
from compactor.models import ModelTable
from compactor.shown import ShownMessages, edits_of
from compactor.transcript import Transcript


class Policy(core_policy.Policy, frozen=True, kw_only=True):
    __doc__ = core_policy.Policy.__doc__

    @classmethod
    def for_model(cls, name: str, **settings: Any) -> Policy:
        """A policy with the window and the counter of a model of the table.

        Raises:
            PolicyError: `policy.model_unknown`.
        """
        if model_table.facts(name) is None and "window" not in settings:
            raise model_table.unknown(name)
        return cls(model=name, **settings)

    @classmethod
    def load(cls, path: str | FilePath) -> Policy:
        """The policy of a `compactor.toml`, a `pyproject.toml` or the seed's JSON file.

        Raises:
            PolicyError: `policy.unknown_key` or `policy.range`, naming file and key.
        """
        from compactor.config import load_policy  # only who has a file pays for its parsers

        return cls(**msgspec.structs.asdict(load_policy(str(path))))


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


def compact(
    request: Any,
    policy: core_policy.Policy | None = None,
    journal: Journal | None = None,
    *,
    format: str | None = None,  # noqa: A002
    counter: Counter | None = None,
    recallable: bool | None = None,
    failed: Iterable[str] = (),
    pins: Iterable[int] = (),
    overflowed: bool = False,
    force: bool = False,
    explain: bool = False,
    place_breakpoints: bool = False,
    models: ModelTable | None = None,
) -> Outcome:
    """The request with old tool results elided, as it should be sent.

    Args:
        request: a request body (dict), a list of messages, or a `Transcript`. Never changed.
        policy: what to keep and when to act; None takes the request's own model.
        journal: of the call before. Without it the same bytes come out, for O(history) work.
        format: name of the format; None looks at the content.
        counter: counts tokens instead of the policy's.
        recallable: overrides the policy's.
        failed: ids of calls that failed, beside the format's own error flags.
        pins: seqs to keep verbatim, beside the policy's.
        overflowed: the provider refused this very request as too long.
        force: start afresh where the journal belongs to another conversation.
        explain: also say the fate of every entry (O(history)).
        place_breakpoints: set cache breakpoints at the frontier, at the anchor and at the end of
            the request, as far as the provider's limit allows.
        models: what is known of models instead of the table that ships (`compactor.models.load`).

    Returns:
        an `Outcome`. With its journal a call costs O(new entries + entries between the old and the
        new cutoff + candidates); lists of messages are compared by object identity first, so hand
        over a new object when you change a message.

    Raises:
        InputError: the request cannot be read; `counter_changed`.
        PolicyError: the settings contradict themselves or no window is known.
        JournalError: the journal is damaged or belongs to another conversation.
    """
    failed = failed if isinstance(failed, str) else tuple(failed)
    _check_types(policy, journal, failed)
    workings = journal.take_workings() if journal is not None else None
    transcript = _read(request, format, workings)
    header = journal.header if journal is not None else None
    if force and journal is not None and not begins(transcript.entries, journal):
        header = None  # what a foreign journal pins is not ours
    table = models or model_table.built_in()
    chosen = choose(transcript.reading, policy or Policy(), header, counter, table)
    settings = Settings(
        loop=loop(),
        measure=chosen.measure,
        rules=resolve(with_pins(chosen.policy, pins), chosen.facts, loop().compaction),
        overhead=overhead(transcript.reading, chosen),
        recallable=chosen.policy.recallable if recallable is None else recallable,
        failed=tuple(failed),
        overflowed=overflowed,
        force=force,
        model=chosen.model,
    )
    fold = workings.fold if workings is not None else None
    decision = decide(transcript.entries, journal or Journal(), settings, fold)
    same_lens = workings is not None and workings.lens is transcript.lens
    memo = workings.shown if workings and same_lens else _memo(transcript.lens)
    asked = _Asked(explain, place_breakpoints, chosen.cache_rule)
    return _outcome(request, transcript, decision, memo, chosen.findings, asked)


def render(request: Any, journal: Journal, *, format: str | None = None) -> Any:  # noqa: A002
    """The request as the journal shows it. Decides nothing; needs no policy.

    Args:
        request: as for `compact`.
        journal: of this conversation.

    Returns:
        the same shape and type as `request`.

    Raises:
        JournalError: `journal.foreign` when it was made for another conversation.
    """
    transcript = _read(request, format, None)
    view = core_render.render(transcript.entries, journal)
    return _show(request, transcript, view, _memo(transcript.lens))


def _check_types(policy: Any, journal: Any, failed: Any) -> None:
    """What people hand over by mistake, said in words."""
    if policy is not None and not isinstance(policy, core_policy.Policy):
        raise PolicyError(
            f"a Policy was expected, not {type(policy).__name__}",
            code="policy.range",
            path="policy",
            hint="Policy(window=…), or Policy.load(FILE)",
        )
    if journal is not None and not isinstance(journal, Journal):
        raise JournalError(
            f"a Journal was expected, not {type(journal).__name__}",
            code="journal.damaged",
            path="journal",
            hint="hand over out.journal of the call before, or Journal.from_lines(…)",
        )
    if isinstance(failed, str) or not all(isinstance(call_id, str) for call_id in failed):
        raise PolicyError(
            "failed is a list of call ids",
            code="policy.range",
            path="failed",
            hint="failed=['toolu_1', …]",
        )


def _memo(lens: Lens) -> ShownMessages:
    return ShownMessages(lens, loop().reasoning.removed)


class _Asked(NamedTuple):
    """What the caller wants beside the request."""

    fates: bool
    breakpoints: bool
    cache_rule: str | None


def _read(request: Any, format_name: str | None, workings: _Workings | None) -> Transcript:
    if isinstance(request, Transcript):
        return request
    if format_name is None and workings is not None and _has_told(workings.fold):
        try:  # a conversation keeps its format, so mostly it need not be looked for again
            reading = workings.lens.read(request, workings.reading)
            return Transcript(workings.lens, request, reading)
        except InputError:
            workings = None
    lens = lens_named(format_name) if format_name else detect_lens(request)
    known = workings.reading if workings is not None and workings.lens is lens else None
    return Transcript(lens, request, lens.read(request, known))


def _has_told(fold: Fold) -> bool:
    """Whether the entries so far are of one format only. Plain texts are the same in several."""
    return any(entry.kind is Kind.TOOL for entry in fold.entries)


def _outcome(
    request: Any,
    transcript: Transcript,
    decision: Decision,
    memo: ShownMessages,
    findings: tuple[Finding, ...],
    asked: _Asked,
) -> Outcome:
    fold, lens, root = decision.fold, transcript.lens, transcript.root
    bound = reasoning.bind(transcript, fold)
    edits, entries = bound.edits, transcript.reading.entries
    shown = _show(request, transcript, fold.view, memo)
    native = _native(shown) if isinstance(lens, CacheBreakpoints) else root
    places = breakpoints.find(lens, native, entries, reach(fold))
    if asked.breakpoints:
        placed = breakpoints.place(lens, native, places, asked.cache_rule)
        edits, findings = edits + placed.edits, findings + placed.findings
    reading = None if isinstance(request, Transcript) else transcript.reading
    workings = _Workings(lens, reading, fold, memo)
    said = transcript.findings + findings + bound.findings
    return Outcome(
        request=_add_edits(shown, edits),
        journal=Journal(decision.journal.records, workings=workings),
        report=make_report(decision, transcript.format, said, *places.report()),
        headers=bound.headers,
        fates=tuple(fates(fold)) if asked.fates else (),
    )


def _show(request: Any, transcript: Transcript, view: View, memo: ShownMessages) -> Any:
    """The caller's own shape with the view's changes."""
    if not isinstance(request, Transcript):
        return memo.show(request, transcript.entries, view)
    lens, root, removed = transcript.lens, transcript.root, loop().reasoning.removed
    seqs = sorted({*view.bodies, *view.unreasoned})
    return request.with_edits(edits_of(lens, root, transcript.entries, seqs, view, removed))


def _add_edits(shown: Any, edits: list[Edit]) -> Any:
    """What the request needs beside its view."""
    if isinstance(shown, Transcript):
        return shown.with_edits(breakpoints.added(shown.edits, edits))
    return apply_edits(shown, edits)


def _native(shown: Any) -> Any:
    """The native data as shown."""
    return shown.view() if isinstance(shown, Transcript) else shown
