"""`recall`: a stored original again, by seq, by id, or by words.

By seq it is the exact text. By id it is a window of lines under a bracket of its own; the recall is
itself a result, stored as a pointer, and its root is followed, so that nothing is stored twice. By
words it is ranked places. Specification: seeds 000 section 4 and 002, DESIGN section 7.
"""

from __future__ import annotations

from typing import NamedTuple

from compactor.core import hygiene
from compactor.core.errors import InputError, StoreError
from compactor.core.facts import Facts, insertion_key
from compactor.core.records import InsertionRecord
from compactor.loop import loop
from compactor.session.kept import Kept
from compactor.store import Found, Hit, StoredResult, Transaction


class Window(NamedTuple):
    """Lines that are asked for; None where the call does not say."""

    offset: int | None = None
    limit: int | None = None


def recall(
    kept: Kept,
    seq: int | None,
    id: str | None,  # noqa: A002
    query: str | None,
    window: Window,
    call_id: str,
) -> str:
    """See `Session.recall`."""
    if kept.state.recall_off:
        raise StoreError("recall was turned off in this session", code="recall.off", path="recall")
    if sum(value is not None for value in (seq, id, query)) != 1:
        raise InputError("give exactly one of seq, id and query", code="input.shape", path="recall")
    if seq is not None:
        return _by_seq(kept, seq, window)
    return (
        _by_id(kept, id, window, call_id)
        if id is not None
        else _by_words(kept, query or "", window, call_id)
    )


def _by_seq(kept: Kept, seq: int, window: Window) -> str:
    try:
        text = kept.store.entry(seq).text
    except StoreError as error:
        if error.code != "store.unknown_entry":
            raise
        raise StoreError(
            f"no message has seq {seq} in this session",
            code="recall.unknown",
            path="seq",
            hint="take the seq of a marker, or look for words of it (query)",
        ) from error
    return text if window == Window() else hygiene.lines_of(text, window.offset, window.limit)


def _by_id(kept: Kept, id: str, window: Window, call_id: str) -> str:  # noqa: A002
    number = hygiene.parse_id(id)
    known = kept.result(number) if number is not None else None
    text = None if known is None else full_text(kept, known)

    def write(tx: Transaction) -> str:
        own = tx.next_number
        shown = hygiene.recall(own, id, text, window.offset, window.limit, loop().context)
        root, first = _root(known if shown.count else None, shown.first)
        stored = StoredResult(
            number=own,
            call_id=call_id,
            tool=loop().tools.recall.name,
            root=root,
            offset=first,
            limit=shown.count,
            text="" if root else shown.text,
            searchable=False,
        )
        facts = Facts(own, "recall", shown.bracket, root=root)
        _keep(kept, tx, stored, facts, shown.body)
        return shown.body

    return kept.write(write)


def _root(known: StoredResult | None, first: int) -> tuple[int, int]:
    """The result that a recall shows in the end, and its first line there."""
    if known is None:
        return 0, first
    return (known.root, known.offset + first - 1) if known.root else (known.number, first)


def full_text(kept: Kept, known: StoredResult) -> str:
    """All that a result stands for; of a recall the lines that it showed."""
    if not known.root:
        return known.text
    original = kept.result(known.root)
    text = original.text if original is not None else ""
    return hygiene.lines_of(text, known.offset, known.limit)


def _keep(kept: Kept, tx: Transaction, stored: StoredResult, facts: Facts, body: str) -> None:
    """Store a recall, and know it when it comes back."""
    tx.add_result(stored)
    kept.record(tx, InsertionRecord(insertion_key(stored.call_id, body), facts))


def _by_words(kept: Kept, query: str, window: Window, call_id: str) -> str:
    limit = min(window.limit or _HITS, _HITS_MAX)
    found = kept.store.search(query, limit=limit)

    def write(tx: Transaction) -> str:
        own = tx.next_number
        text = "\n".join(_told(found))
        bracket = f"[{hygiene.shown_id(own, loop().context.ids)}]"
        body = f"{bracket}\n{text}"
        stored = StoredResult(
            number=own,
            call_id=call_id,
            tool=loop().tools.recall.name,
            arguments=query,
            text=text,
            searchable=False,
        )
        _keep(kept, tx, stored, Facts(own, "recall", len(bracket)), body)
        return body

    return kept.write(write)


_HITS = 10
_HITS_MAX = 50


def _told(found: Found) -> list[str]:
    """Hits as text, best first."""
    texts = loop().search
    if not found.hits:
        return [texts.nothing]
    lines = []
    for hit in found.hits:
        lines.append(texts.hit.format(name=_name(hit), what=hit.tool or hit.kind))
        lines += [texts.line.format(number=line.number, text=line.text) for line in hit.lines]
        if hit.lines and hit.total_lines > len(hit.lines):
            lines.append(texts.total.format(total=hit.total_lines))
    if found.common:
        lines.append(texts.common.format(words=", ".join(found.common)))
    return lines


def _name(hit: Hit) -> str:
    if hit.number is not None:
        return hygiene.shown_id(hit.number, loop().context.ids)
    return f"seq={hit.seq}"
