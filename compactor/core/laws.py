"""Checks a pass against the laws right after it was made, over what it changed.

A law that does not hold is our fault: the call raises `internal.law` and nothing is handed out. The
cost is O(what the pass changed). Specification: DESIGN section 10.
"""

from __future__ import annotations

from compactor.core.errors import InternalError
from compactor.core.fold import Fold
from compactor.core.model import Kind
from compactor.core.records import PassRecord


def check_pass(fold: Fold, record: PassRecord) -> None:
    """L7, L8, L9, L10 and L12 over one pass, already applied.

    Raises:
        InternalError: `internal.law`, naming the law.
    """
    shrinks = record.tokens_after < record.tokens_before or record.trigger == "asked"
    _hold("L10", fold.estimate == record.tokens_after and shrinks, record)
    seqs = [elision.seq for elision in record.elided]
    inputs = [elision.seq for elision in record.inputs]
    _hold("L12", bool(seqs or inputs), record)
    for changed in (seqs, inputs):
        end = min(record.cutoff, fold.answered(fold.n), fold.n)
        _hold("L12", changed == sorted(set(changed)) and all(s < end for s in changed), record)
    _hold("L12", all(fold.entries[s].kind is Kind.ASSISTANT for s in inputs), record)
    _hold("L8", record.floor is None or record.floor not in fold.elided, record)
    for elision in record.elided:
        entry = fold.entries[elision.seq]
        is_kept = fold.eligible.kept_by_rule(entry, fold.labels[elision.seq])
        _hold("L12", entry.kind is Kind.TOOL and not is_kept, record)
        own = elision.text.removeprefix(f"{fold.bracket(elision.seq)}\n")
        marker, _, table = own.partition("\n")
        _hold("L9", len(marker) <= fold.loop.marker.chars_max, record)
        _hold("L9", table.count("\n|") <= fold.loop.table.rows + 2, record)
        _hold("L7", bool(marker), record)


def _hold(law: str, holds: bool, record: PassRecord) -> None:
    if not holds:
        raise InternalError(
            f"law {law} does not hold for the pass at entry {record.n}",
            code="internal.law",
            path=f"pass {record.request}",
            hint="please report this; the request was not changed",
        )
