"""What a store of originals is to the rest: values, and the protocols that a backend fulfils.

A store keeps sessions. A session keeps every entry and every result it was ever given, in full and
for good, the journal, the live branch, and the caller's state; numbers are given once. What `facts`
and `state` hold is the caller's business. One session may be used by many threads and processes:
who writes names the version that the write is based on, and is refused as stale when another was
faster. `sqlite.py` is the backend we ship. Specification: DESIGN section 7, docs/store.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from compactor.core.errors import Finding, StoreError


class StaleError(StoreError):
    """The session has been written to since it was read: load it again and decide again."""


class StoredEntry(NamedTuple):
    """One entry of a conversation.

    seq: the next one of the session.
    kind: user, assistant, tool or system.
    digest: the caller's identity of the entry; the live branch is told by it.
    text: exactly what a recall of the seq shows. NUL and lone surrogates are kept.
    name: of the tool, of a tool entry.
    call_id: as the format has it.
    facts: whatever else the caller needs of it. The text should not be in here once more.
    about: text that it can be found by as well, such as the call's arguments; not kept for reading.
    searchable: False for what is only a view of something stored: recalls.
    """

    seq: int
    kind: str
    digest: str
    text: str = ""
    name: str = ""
    call_id: str = ""
    facts: bytes = b""
    about: str = ""
    searchable: bool = True


class StoredResult(NamedTuple):
    """One tool result as it was before any cap, or a recall, which only points at what it showed.

    number: the hygiene id, the next one of the session, from 1.
    arguments: of the call, as text; the result can be found by them too.
    text: in full; "" for a recall of an id or a seq.
    facts: as for an entry.
    searchable: False for a recall by query, whose text is snippets of others.
    root: number of the result that a recall shows; 0 for none.
    root_seq: seq of the entry that a recall shows; -1 for none.
    offset, limit: lines that a recall shows, from 1.
    """

    number: int
    call_id: str = ""
    tool: str = ""
    arguments: str = ""
    text: str = ""
    facts: bytes = b""
    searchable: bool = True
    root: int = 0
    root_seq: int = -1
    offset: int = 1
    limit: int = 0


class Stored(NamedTuple):
    """What a session is taken up again from.

    version: for `SessionStore.write`.
    next_seq, next_number: of the next entry and the next result.
    records: the journal, oldest first.
    live: (seq, digest) of the entries on the live branch.
    state: as last put; b"" before that.
    """

    version: int
    next_seq: int
    next_number: int
    records: list[bytes]
    live: list[tuple[int, str]]
    state: bytes


class SessionInfo(NamedTuple):
    """One line of a list of sessions. Times in milliseconds since 1970 UTC.

    size_bytes: of texts, facts and records; what is in it several times is counted once.
    format, model: as the caller put them; "" before that.
    """

    id: str
    entries: int
    results: int
    records: int
    size_bytes: int
    created_ms: int
    updated_ms: int
    format: str
    model: str


class Line(NamedTuple):
    """A line of a hit. Long ones are cut to what surrounds the match, with `…`."""

    number: int
    text: str


class Hit(NamedTuple):
    """A text in which words of a query were found.

    seq: the newest searchable entry with this text; None when it is only a result so far.
    number: the newest result with this text; None when it is none.
    kind, tool: of the entry, else `tool` and the result's tool.
    lines: around the best matches, ascending; the first lines where only `about` matched. Counted
        from 1 in the text of the result where there is one, else of the entry.
    total_lines: of that text.
    matched: words of the query that were found in it, in the query's order.
    score: for comparing hits of one query.
    """

    seq: int | None
    number: int | None
    kind: str
    tool: str
    lines: tuple[Line, ...]
    total_lines: int
    matched: tuple[str, ...]
    score: int


class Found(NamedTuple):
    """The answer to a query.

    hits: best first; the newer first among equals.
    words: what was looked for, as the index spells it.
    missing: those of them that stand nowhere in this session.
    common: words in so many texts that only the newest were looked at.
    cut: the query was longer than what is looked at.
    """

    hits: list[Hit]
    words: tuple[str, ...]
    missing: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    cut: bool = False


class Transaction(Protocol):
    """One write: all of it or nothing. Of one thread."""

    @property
    def base(self) -> int:
        """The version that this write is based on."""

    @property
    def version(self) -> int:
        """The session's, once this is committed."""

    @property
    def next_seq(self) -> int: ...

    @property
    def next_number(self) -> int: ...

    def add_entries(self, entries: Sequence[StoredEntry]) -> None:
        """Add entries; their seqs must be the next ones.

        Raises:
            StoreError: `store.out_of_order`.
        """

    def set_live(self, keep: int, seqs: Sequence[int]) -> None:
        """Make the live branch its first `keep` entries and then `seqs`. O(what changes).

        Raises:
            StoreError: `store.out_of_order` for a place or a seq that there is not.
        """

    def add_result(self, result: StoredResult) -> None:
        """Add a result; its number must be the next one, and what it points at must be there.

        Raises:
            StoreError: `store.out_of_order`.
        """

    def add_records(self, records: Sequence[bytes]) -> None:
        """Append records to the journal, chained by a checksum as in a journal file."""

    def put_state(self, state: bytes) -> None:
        """Keep the caller's state in the place of the last one."""

    def put_about(self, *, format_name: str | None = None, model: str | None = None) -> None:
        """Keep what a list of sessions says; None leaves it as it is."""


class SessionStore(Protocol):
    """One session of a store. May be shared by threads.

    Every method raises StoreError: `store.unknown_session` once the session was deleted.
    """

    @property
    def id(self) -> str: ...

    def version(self) -> int:
        """Grows with each committed write of this session. O(1)."""

    def load(self, records_from: int = 0) -> Stored:
        """What the session is taken up again from. O(records + live branch), no texts.

        Args:
            records_from: index of the first record that is wanted.
        """

    def write(self, version: int | None) -> AbstractContextManager[Transaction]:
        """Write, based on what was loaded as `version`. On the disk at the end of the block.

        Without a version the block sees which one it has (`base`) and may load it: until it ends
        nobody else writes.

        Any exception in the block undoes all of it. A block that writes nothing leaves the
        version as it is; else it grows by one.

        Raises:
            StaleError: another write came first. `store.stale`
            StoreError: `store.locked` when others were writing for all of the store's `wait_ms`.
        """

    def entry(self, seq: int) -> StoredEntry:
        """One entry, exactly; `about` is not kept. O(its size).

        Raises:
            StoreError: `store.unknown_entry`; `store.damaged` when it is not what was written.
        """

    def entries(self, first: int, count: int) -> list[StoredEntry]:
        """The entries that there are of `first`, `first + 1`, …"""

    def result(self, number: int) -> StoredResult:
        """One result, exactly. O(its size).

        Raises:
            StoreError: `store.unknown_result`; `store.damaged`.
        """

    def search(self, query: str, *, limit: int = 10) -> Found:
        """Where words of a free text stand, ranked. The text is never query syntax.

        Cost is bounded whatever the query: see docs/store.md, Search.
        """


class Store(Protocol):
    """Sessions in one place, shared by threads and processes."""

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the last written first."""

    def session(self, session_id: str, *, create: bool = False) -> SessionStore:
        """One session.

        Args:
            session_id: 1 to 200 characters, no control characters.
            create: make it where there is none.

        Raises:
            StoreError: `store.unknown_session`, `store.session_id`.
        """

    def delete(self, session_id: str) -> None:
        """Remove a session with all that it holds. Its id is free at once.

        Raises:
            StoreError: `store.unknown_session`.
        """

    def prune(self, before_ms: int) -> list[str]:
        """Remove the sessions last written to before this time.

        Returns:
            their ids.
        """

    def verify(self, session_id: str | None = None) -> list[Finding]:
        """Compare everything with its checksums, numbers and index. O(the whole file).

        Returns:
            what is wrong, [] where all is well.
        """

    def close(self) -> None:
        """Give up what is open. Further calls are refused with `store.closed`."""
