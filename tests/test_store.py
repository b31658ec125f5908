"""The store: what is written comes back exactly, numbers are given once, a write is one step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import StoreError
from compactor.line_sum import line_sum
from compactor.store import (
    SessionInfo,
    SessionStore,
    SqliteStore,
    StaleError,
    Store,
    Stored,
    StoredEntry,
    StoredResult,
    Transaction,
    index,
)
from compactor.store.session import SqliteSession
from tests.store_kit import Clock, entry, filled, result


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "store", clock=Clock()) as opened:
        yield opened
        assert opened.verify() == []


@pytest.fixture
def session(store: SqliteStore) -> SqliteSession:
    return store.session("one", create=True)


def add(session: SqliteSession, *entries: StoredEntry) -> None:
    with session.write(session.version()) as write:
        write.add_entries(entries)


def code_of(error: pytest.ExceptionInfo[StoreError]) -> tuple[str, bool]:
    return error.value.code, bool(error.value.path)


def test_the_sqlite_store_is_a_store(store: SqliteStore) -> None:
    as_store: Store = store
    as_session: SessionStore = store.session("one", create=True)
    with as_session.write(0) as write:
        as_write: Transaction = write
        as_write.put_state(b"x")
    assert (as_session.load().state, len(as_store.sessions())) == (b"x", 1)


def test_a_new_session_is_empty(session: SqliteSession) -> None:
    assert session.load() == Stored(0, 0, 1, [], [], b"")


def test_a_session_is_taken_up_again_from_what_was_written(store: SqliteStore) -> None:
    filled(store)
    live = [(seq, f"{seq:032x}") for seq in range(4)]
    records = [b'{"kind":"header"}', b'{"kind":"pass"}']
    assert store.session("one").load() == Stored(1, 4, 3, records, live, b"state")


def test_another_store_object_reads_the_same(store: SqliteStore) -> None:
    session = filled(store)
    with SqliteStore.open(store.path) as other:
        again = other.session("one")
        assert again.load() == session.load()
        assert again.entries(0, 10) == session.entries(0, 10)


def test_an_entry_comes_back_as_it_was(session: SqliteSession) -> None:
    given = StoredEntry(0, "tool", "d" * 32, "a\n\n b", "bash", "call_1", b"{}", searchable=False)
    add(session, given)
    assert session.entry(0) == given


texts = st.text(st.characters(codec=None) | st.sampled_from("\0\ud800\udfff\n[#é文"), max_size=60)


@given(text=texts, name=texts, call_id=texts, facts=st.binary(max_size=900), bracket=st.booleans())
def test_any_text_comes_back_exactly(
    text: str, name: str, call_id: str, facts: bytes, bracket: bool
) -> None:
    shown = f"[#0001 {name}]\n{text}" if bracket else text
    one = StoredEntry(0, "tool", "0", shown, name, call_id, facts)
    other = StoredResult(1, call_id, name, text, text, facts, root_seq=0, offset=3, limit=7)
    with SqliteStore.open(":memory:") as store:
        session = store.session("one", create=True)
        with session.write(0) as write:
            write.add_entries([one])
            write.add_result(other)
        assert (session.entry(0), session.result(1)) == (one, other)
        assert store.verify() == []


def test_a_range_of_entries_is_what_there_is_of_it(session: SqliteSession) -> None:
    every = [entry(seq) for seq in range(5)]
    add(session, *every)
    asked = [(0, 5), (1, 2), (3, 9), (-2, 4), (5, 1), (0, 0), (2**40, 1)]
    found = [session.entries(*each) for each in asked]
    assert found == [every, every[1:3], every[3:], every[:2], [], [], []]


@pytest.mark.parametrize("seq", [-1, 2, 2**32, 2**70])
def test_an_entry_that_there_is_not_is_an_error(session: SqliteSession, seq: int) -> None:
    add(session, entry(0), entry(1))
    with pytest.raises(StoreError) as error:
        session.entry(seq)
    assert code_of(error) == ("store.unknown_entry", True)


@pytest.mark.parametrize("number", [-1, 0, 3, 2**32, 2**70])
def test_a_result_that_there_is_not_is_an_error(store: SqliteStore, number: int) -> None:
    with pytest.raises(StoreError) as error:
        filled(store).result(number)
    assert code_of(error) == ("store.unknown_result", True)


def test_a_recall_points_at_what_it_showed_and_holds_no_text(store: SqliteStore) -> None:
    session = filled(store)
    pointer = StoredResult(2, tool="recall", root=1, offset=1, limit=2000)
    assert session.result(2) == pointer


@pytest.mark.parametrize(("root", "root_seq"), [(3, -1), (4, -1), (-1, -1), (0, 4), (0, -2)])
def test_a_recall_of_what_is_not_stored_is_refused(
    store: SqliteStore, root: int, root_seq: int
) -> None:
    session = filled(store)
    with pytest.raises(StoreError) as error, session.write(1) as write:
        write.add_result(StoredResult(3, root=root, root_seq=root_seq))
    assert code_of(error) == ("store.out_of_order", True)


@pytest.mark.parametrize("seqs", [[1], [0, 0], [0, 2], [-1]])
def test_a_seq_is_the_next_one_or_refused(session: SqliteSession, seqs: list[int]) -> None:
    with pytest.raises(StoreError) as error, session.write(0) as write:
        write.add_entries([entry(seq) for seq in seqs])
    assert code_of(error) == ("store.out_of_order", True)
    assert session.load() == Stored(0, 0, 1, [], [], b"")


@pytest.mark.parametrize("number", [0, 2])
def test_a_number_is_the_next_one_or_refused(session: SqliteSession, number: int) -> None:
    with pytest.raises(StoreError) as error, session.write(0) as write:
        write.add_result(result(number))
    assert code_of(error) == ("store.out_of_order", True)


def test_a_write_says_which_numbers_come_next(session: SqliteSession) -> None:
    with session.write(0) as write:
        said = [(write.next_seq, write.next_number)]
        write.add_entries([entry(0), entry(1)])
        write.add_result(result(1))
        said.append((write.next_seq, write.next_number))
    assert said == [(0, 1), (2, 2)]


def test_an_exception_undoes_all_of_a_write(store: SqliteStore) -> None:
    session = filled(store)
    before, info = session.load(), store.sessions()

    def half_a_write() -> None:
        with session.write(1) as write:
            write.add_entries([entry(4), entry(5)])
            write.set_live(0, [5])
            write.add_result(result(3))
            write.add_records([b"{}"])
            write.put_state(b"other")
            write.put_about(model="other")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_a_write()
    assert (session.load(), store.sessions()) == (before, info)
    assert session.search("text of 5").missing == ("5",)


def test_a_write_of_nothing_is_no_new_version(session: SqliteSession) -> None:
    with session.write(0):
        pass
    assert session.version() == 0


def test_each_write_is_a_new_version_of_its_own_session_only(store: SqliteStore) -> None:
    one, other = store.session("one", create=True), store.session("other", create=True)
    for seq in range(3):
        add(one, entry(seq))
    assert (one.version(), other.version()) == (3, 0)


def test_who_writes_on_top_of_an_older_version_is_refused(session: SqliteSession) -> None:
    add(session, entry(0))
    with pytest.raises(StaleError) as error, session.write(0) as write:
        write.add_entries([entry(0)])
    assert code_of(error) == ("store.stale", True)
    assert session.load().next_seq == 1


def test_the_live_branch_is_what_was_kept_and_what_followed(session: SqliteSession) -> None:
    add(session, *(entry(seq) for seq in range(6)))
    branches = []
    for keep, seqs in [(0, [0, 1, 2]), (3, [3]), (1, [4, 5]), (3, []), (0, []), (0, [5, 0])]:
        with session.write(session.version()) as write:
            write.set_live(keep, seqs)
        branches.append([seq for seq, _ in session.load().live])
    assert branches == [[0, 1, 2], [0, 1, 2, 3], [0, 4, 5], [0, 4, 5], [], [5, 0]]


@pytest.mark.parametrize(("keep", "seqs"), [(-1, []), (3, []), (0, [2]), (0, [-1])])
def test_a_live_branch_of_what_there_is_not_is_refused(
    session: SqliteSession, keep: int, seqs: list[int]
) -> None:
    add(session, entry(0), entry(1))
    with session.write(1) as write:
        write.set_live(0, [0, 1])
    with pytest.raises(StoreError) as error, session.write(2) as write:
        write.set_live(keep, seqs)
    assert code_of(error) == ("store.out_of_order", True)
    assert [seq for seq, _ in session.load().live] == [0, 1]


def test_records_are_chained_as_in_a_journal_file(store: SqliteStore) -> None:
    session = filled(store)
    with session.write(1) as write:
        write.add_records([b"\x00\xff"])
    sums, last = [], ""
    for record in session.load().records:
        last = line_sum(last, record)
        sums.append((last,))
    with store._connections.reading() as db:
        assert db.execute("SELECT sum FROM record ORDER BY id").fetchall() == sums


def test_the_state_is_the_last_one_put(session: SqliteSession) -> None:
    states = []
    for state in (b"a", b"", b"c" * 10_000):
        with session.write(session.version()) as write:
            write.put_state(state)
        states.append(session.load().state)
    assert states == [b"a", b"", b"c" * 10_000]


def test_the_list_of_sessions_says_what_they_hold_and_when(store: SqliteStore) -> None:
    filled(store, 2)
    store.session("other", create=True)
    texts = len("text of 0\ntext of 1\none result\n")
    facts, records = 2 * len('{"n":0}'), len('{"kind":"header"}{"kind":"pass"}')
    size = texts + facts + records
    assert store.sessions() == [
        SessionInfo("other", 0, 0, 0, 0, 1003, 1003, "", ""),
        SessionInfo("one", 2, 2, 2, size, 1001, 1002, "anthropic", "claude"),
    ]


def test_what_a_list_says_is_replaced_only_by_what_is_given(store: SqliteStore) -> None:
    session = filled(store)
    with session.write(1) as write:
        write.put_about(model="half \ud83d")
    [info] = store.sessions()
    assert (info.format, info.model) == ("anthropic", "half ?")


def test_a_session_that_there_is_not_is_an_error(store: SqliteStore) -> None:
    for call in (store.session, store.delete, store.verify):
        with pytest.raises(StoreError) as error:
            call("none")
        assert code_of(error) == ("store.unknown_session", True)


@pytest.mark.parametrize("name", ["", "a" * 201, "a\nb", "a\0", "\ud800", "\x7f"])
def test_what_is_no_id_of_a_session_is_refused(store: SqliteStore, name: str) -> None:
    with pytest.raises(StoreError) as error:
        store.session(name, create=True)
    assert code_of(error) == ("store.session_id", True)


@pytest.mark.parametrize("name", ["a", "a" * 200, "../x; DROP TABLE session", "文件 é", "%_'\""])
def test_any_other_text_is_an_id(store: SqliteStore, name: str) -> None:
    add(store.session(name, create=True), entry(0))
    assert [info.id for info in store.sessions()] == [name]


def test_a_session_is_made_once(store: SqliteStore) -> None:
    add(store.session("one", create=True), entry(0))
    assert store.session("one", create=True).load().next_seq == 1


def test_a_deleted_session_is_gone_for_those_who_hold_it(store: SqliteStore) -> None:
    session = filled(store)
    store.delete("one")
    calls = (
        session.version,
        session.load,
        lambda: session.entry(0),
        lambda: session.result(1),
        lambda: session.search("text"),
        lambda: session.write(1).__enter__(),
    )
    for call in calls:
        with pytest.raises(StoreError) as error:
            call()
        assert code_of(error) == ("store.unknown_session", True)
    assert store.sessions() == []


def test_a_deleted_session_leaves_no_row_and_its_id_is_free(store: SqliteStore) -> None:
    filled(store, name="kept")
    before = counts(store)
    for _ in range(3):
        filled(store)
        store.rebuild_index()
        store.delete("one")
    assert counts(store) == {**before, "index": {1}}
    assert filled(store).load().version == 1


def counts(store: SqliteStore) -> dict[str, Any]:
    """Rows of every table, and the numbers of the sessions that the word index speaks of."""
    tables = ("session", "body", "entry", "result", "record", "live", "state", "place")
    with store._connections.reading() as db:
        rows = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
        return {**rows, "index": {body >> 32 for _, body in index.held(db)}}


def test_pruning_removes_whole_sessions_by_the_time_of_their_last_write(
    store: SqliteStore,
) -> None:
    for name in ("a", "b", "c"):
        filled(store, name=name)
    old = {info.id: info.updated_ms for info in store.sessions()}
    add(store.session("a"), entry(4))
    assert store.prune(old["c"]) == ["b"]
    assert [info.id for info in store.sessions()] == ["a", "c"]
    assert store.session("a").load().next_seq == 5


def test_nothing_ever_expires_by_itself(tmp_path: Path) -> None:
    clock = Clock()
    with SqliteStore.open(tmp_path / "store", clock=clock) as store:
        filled(store)
        clock.now += 10**12
        filled(store, name="other")
        assert store.session("one").entry(0) == entry(0)


def test_a_text_that_comes_again_is_kept_once(store: SqliteStore, session: SqliteSession) -> None:
    big = "a line of a big body\n" * 5_000
    with session.write(0) as write:
        write.add_result(result(1, big))
        write.add_result(result(2, big))
        write.add_entries([entry(0, big), entry(1, f"[#0001 a.txt sha 00]\n{big}"), entry(2, big)])
    [info] = store.sessions()
    assert info.size_bytes == len(big) + 3 * len('{"n":0}')
    assert [session.entry(seq).text for seq in range(3)] == [
        big,
        f"[#0001 a.txt sha 00]\n{big}",
        big,
    ]
    assert (session.result(1).text, session.result(2).text) == (big, big)


def test_large_facts_that_come_again_are_kept_once(
    store: SqliteStore, session: SqliteSession
) -> None:
    image = b'{"image":"' + b"iVBORw0KGgo" * 10_000 + b'"}'
    add(session, *(entry(seq, "the same", facts=image) for seq in range(20)))
    assert store.sessions()[0].size_bytes == len(image) + len("the same")
    assert {session.entry(seq).facts for seq in range(20)} == {image}


def test_taking_up_the_same_transcript_again_and_again_costs_only_rows(
    store: SqliteStore, session: SqliteSession
) -> None:
    bodies = [f"result {n}\n" * 2_000 for n in range(20)]
    sizes = []
    for _ in range(4):
        start = session.load().next_seq
        with session.write(session.version()) as write:
            write.add_entries([entry(start + n, body) for n, body in enumerate(bodies)])
            write.set_live(0, range(start, start + 20))
        sizes.append(store.sessions()[0].size_bytes)
    grown = [after - before for before, after in pairwise(sizes)]
    assert sizes[0] > 300_000
    assert max(grown) < 400


def test_sessions_do_not_see_each_other(store: SqliteStore) -> None:
    one, other = (store.session(name, create=True) for name in ("one", "other"))
    add(one, entry(0, "needle in one"))
    add(other, entry(0, "needle in other"), entry(1, "hay"))
    assert [hit.lines[0].text for hit in one.search("needle").hits] == ["needle in one"]
    assert (one.entries(0, 9), len(other.entries(0, 9))) == ([entry(0, "needle in one")], 2)
    store.delete("one")
    assert [hit.seq for hit in other.search("needle").hits] == [0]


def test_a_closed_store_refuses_every_call(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store")
    session = filled(store)
    store.close()
    for call in (store.sessions, store.verify, session.load, lambda: session.write(1).__enter__()):
        with pytest.raises(StoreError) as error:
            call()
        assert code_of(error) == ("store.closed", True)


def test_a_temporary_store_leaves_nothing_behind() -> None:
    with SqliteStore.open(":memory:") as store:
        filled(store)
        folder = store.path.parent
        assert folder.is_dir()
    assert not folder.exists()


def test_shrinking_gives_room_back_and_removes_what_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        kept = filled(store, name="kept")
        secret = store.session("secret", create=True)
        add(secret, *(entry(seq, f"swordfish {seq} " * 500) for seq in range(100)))
        store.rebuild_index()
        store.delete("secret")
        store.shrink()
        assert kept.entries(0, 9) == [entry(seq) for seq in range(4)]
        assert store.verify() == []
        left = path.read_bytes() + path.with_name("store-wal").read_bytes()
    assert len(left) < 200_000
    assert b"swordfish" not in left
