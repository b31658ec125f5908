"""What a result says of the window at its end, when it takes the context past a share of it.

Each share is told once, and again after a record that left less (`State.fallen`). Specification:
DESIGN section 8, seed 004.
"""

from __future__ import annotations

from collections.abc import Sequence

from compactor.core.fold import Fold
from compactor.core.model import Call
from compactor.core.policy import Policy
from compactor.core.records import AnyRecord, ReadoutRecord
from compactor.loop import loop
from compactor.session.kept import Kept
from compactor.store import Transaction


def readout(
    kept: Kept,
    stands: tuple[Fold, Sequence[AnyRecord]],
    policy: Policy,
    tx: Transaction,
    asked: Call,
    body: str,
) -> str:
    """The line that a result ends with; "" mostly. That a share was told is recorded.

    Args:
        stands: the fold over the branch, and the records of a journal that begins.
        asked: the call; body: its result as it is shown.
    """
    fold, records = stands
    texts, rules = loop().editing, fold.rules
    shares = _shares(
        texts.remind_at if policy.remind_at is None else policy.remind_at,
        rules.threshold,
        rules.window,
        texts.last_margin if policy.last_margin is None else policy.last_margin,
        passes=rules.acts,
    )
    before, after = _count(kept, fold, asked, body)
    told, share = _passed(kept.state.told, before, after, rules.window, shares)
    kept.put(tx, kept.state.counted(after - fold.estimate).telling(told))
    if share is None:
        return ""
    if kept.begun:
        kept.record(tx, *records[len(kept.records) :])
        kept.note(tx, ReadoutRecord(len(kept.branch), share))
    form = texts.readout_code if policy.code_mode else texts.readout
    percent = after * 100 // rules.window
    return form.format(tokens=f"{after:,}", window=f"{rules.window:,}", percent=percent)


def _count(kept: Kept, fold: Fold, asked: Call, body: str) -> tuple[int, int]:
    """Tokens of the context before and after a result, its call included."""
    measure = fold.measure
    call = measure.texts((asked.name, asked.arguments)) + measure.rewritten("")
    before = fold.estimate + kept.state.since + (0 if kept.is_asked(asked.id) else call)
    return before, before + measure.rewritten(body)


def _passed(
    told: int, before: int, after: int, window: int, shares: Sequence[int]
) -> tuple[int, int | None]:
    """The share that is to be told; None mostly.

    Args:
        told: up to which share the model was told.

    Returns:
        up to which it is told now, and the share.
    """
    told = min(told, before * 1000 // window)
    passed = max((share for share in shares if share <= after * 1000 // window), default=0)
    return (passed, passed) if passed > told else (told, None)


def _shares(
    remind_at: Sequence[int], threshold: int, window: int, last_margin: int, *, passes: bool
) -> list[int]:
    """Shares of the window, per mille, past which a result says how full it is.

    With passes the last one lies `last_margin` below their trigger; one that is not above an
    earlier share is dropped.
    """
    if not remind_at:
        return []
    shares = list(remind_at)
    if passes:
        shares[-1] = threshold * 1000 // window - last_margin
    kept: list[int] = []
    for share in shares:
        if share > 0 and (not kept or share > kept[-1]):
            kept.append(share)
    return kept
