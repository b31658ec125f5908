"""How fast texts are counted, new ones and remembered ones."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measure import Row, Table, best
from benchmarks.talks import result
from compactor import counters
from compactor.core.count import Counter
from compactor.counters import CL100K, O200K, Memo, Tiktoken

_TIMES = 3


def speed(size_bytes: int) -> Table:
    """Results of some 6,000 characters, all of them unlike."""
    texts = [result(k, 100) for k in range(max(2, size_bytes // 6_000))]
    rows = []
    for vocabulary in (O200K, CL100K):
        new, known = Tiktoken(vocabulary, Memo(0)), Tiktoken(vocabulary, Memo())
        new.count("the first count loads the vocabulary")
        _all(known, texts)
        rows.append(_row(f"{vocabulary.name}, new", new, texts))
        rows.append(_row(f"{vocabulary.name}, remembered", known, texts))
    rows.append(_row("chars4", counters.get("chars4"), texts))
    return Table("counting", rows, "MB")


def _row(what: str, counter: Counter, texts: Sequence[str]) -> Row:
    """Each run has texts of its own, as each request does: Python knows no hash of theirs yet."""
    copies = [[text.encode().decode() for text in texts] for _ in range(_TIMES)]
    seconds = best(lambda: _all(counter, copies.pop()), _TIMES)
    return Row(what, seconds, sum(map(len, texts)) / 1_000_000)


def _all(counter: Counter, texts: Sequence[str]) -> int:
    return sum(map(counter.count, texts))
