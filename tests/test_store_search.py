"""Searching a session: what is found, in which order, with which lines, and with how much work."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.store import Found, Line, SqliteStore, StoredEntry, StoredResult, index, search
from compactor.store.query import parse
from compactor.store.session import SqliteSession
from compactor.store.snippets import AROUND, UNITS, WIDTH, Sought, lines_around
from tests.store_kit import entry, run


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SqliteSession]:
    with SqliteStore.open(tmp_path / "store") as store:
        yield store.session("one", create=True)
        assert store.verify() == []


def add(session: SqliteSession, texts: Sequence[str]) -> None:
    with session.write(session.version()) as write:
        start = write.next_seq
        write.add_entries([entry(start + n, text) for n, text in enumerate(texts)])


def seqs(found: Found) -> list[int | None]:
    return [hit.seq for hit in found.hits]


HAY = [
    "nothing to see\nhere at all\n",
    "def extract_path_join(base, *parts):\n    return os.path.join(base, *parts)\n",
    "src/compactor/core/fold.py:12: class FoldState\n",
    "const userName = getUserName(request);\n",
    "recorded: ev_3a91f0c2, ev_5b0d77ae\n",
    "文件路径不存在: /tmp/配置.toml\n",
    "Müller sagte: Übergrößenträger\n",
    r'{"stdout": "first\nsecond error\tthird"}',
    "python3 -m pytest -x tests/test_fold.py::test_one ✅\n",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("extract_path_join", 1),
        ("extract_path", 1),
        ("path_join", 1),
        ("EXTRACT", 1),
        ("os.path.join", 1),
        ("extractPathJoin", 1),
        ("src/compactor/core/fold.py", 2),
        ("core/fold.py", 2),
        ("fold.py:12", 2),
        ("FoldState", 2),
        ("foldstate", 2),
        ("fold_state", 2),
        ("getUserName", 3),
        ("getusername", 3),
        ("user_name", 3),
        ("request", 3),
        ("ev_3a91f0c2", 4),
        ("EV_5B0D77AE", 4),
        ("3a91f0c2", 4),
        ("文", 5),
        ("文件", 5),
        ("路径", 5),
        ("文件路径不存在", 5),
        ("配置.toml", 5),
        ("muller", 6),
        ("ubergroßentrager", 6),
        ("u\u0308bergro\u0308ßentra\u0308ger", 6),
        ("second", 7),
        ("third", 7),
        ("python", 8),
        ("python3", 8),
        ("test_fold.py::test_one", 8),
        ("✅", 8),
    ],
)
@pytest.mark.parametrize("indexed", [False, True])
def test_a_text_is_found_by_whole_and_parts(
    tmp_path: Path, query: str, found: int, indexed: bool
) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        session = store.session("one", create=True)
        add(session, HAY)
        if indexed:
            store.rebuild_index()
        answer = session.search(query)
    assert (seqs(answer)[0], answer.missing) == (found, ())


@pytest.mark.parametrize("query", ["xtract", "fold.ts", "件文", "ev_3a91", "nosuchword", "ser"])
def test_what_does_not_stand_there_is_said_to_be_missing(
    session: SqliteSession, query: str
) -> None:
    add(session, HAY)
    assert session.search(query).missing == (query,)


def test_where_a_word_is_missing_its_pieces_are_looked_for(session: SqliteSession) -> None:
    add(session, HAY)
    found = session.search("src/elsewhere/fold.py 文件夹")
    assert found.missing == ("src/elsewhere/fold.py", "文件夹")
    assert [hit.matched for hit in found.hits] == [("src", "fold", "py"), ("fold", "py"), ("文件",)]


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \n\t",
        '"',
        "'; DROP TABLE words; --",
        "fold AND",
        "NOT fold",
        "NEAR(fold, 2)",
        "fold*",
        "^fold",
        "text: fold",
        "words : fold",
        "{text} : fold",
        '"fold" OR',
        "(((fold",
        "fold\0state",
        "\ud800fold\udfff",
        "fold + state",
        "rank MATCH 'bm25(10)'",
        "%fold_",
        "\\",
        "…",
    ],
)
@pytest.mark.parametrize("indexed", [False, True])
def test_a_query_is_never_syntax(tmp_path: Path, query: str, indexed: bool) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        session = store.session("one", create=True)
        add(session, [*HAY, "fold state"])
        if indexed:
            store.rebuild_index()
        found = session.search(query)
    wanted = 9 if "fold" in query else None
    assert (seqs(found)[0] if found.hits else None) == wanted


def test_a_query_of_a_million_characters_is_cut_and_said_to_be(session: SqliteSession) -> None:
    add(session, HAY)
    for query, seq in (("fold " * 200_000, 2), ("fold/" * 200_000, 2), ("文件" * 500_000, 5)):
        found = session.search(query)
        assert (seqs(found)[:1], found.cut) == ([seq], True)


def test_texts_with_all_words_come_before_those_with_some(session: SqliteSession) -> None:
    add(session, ["alpha beta gamma", *["alpha beta"] * 1, "alpha", "gamma gamma gamma", "delta"])
    assert seqs(session.search("alpha beta gamma"))[0] == 0


def test_rare_words_weigh_more(session: SqliteSession) -> None:
    add(session, ["rare one", *(f"usual {n}" for n in range(50))])
    assert seqs(session.search("usual rare"))[0] == 0


def test_more_often_counts_more_but_length_counts_against_it(session: SqliteSession) -> None:
    filler = "other words\n" * 200
    add(session, [f"needle {filler}", "needle needle needle in hay", f"needle needle {filler}"])
    assert seqs(session.search("needle")) == [1, 2, 0]


def test_the_words_as_they_stand_in_the_query_count_more(session: SqliteSession) -> None:
    add(session, ["path to join: extract", "extract path join", "join extract path"])
    assert seqs(session.search("extract path join"))[0] == 1


def test_of_equals_the_newer_comes_first(session: SqliteSession) -> None:
    add(session, [f"needle number {n:03}" for n in range(30)])
    assert seqs(session.search("needle", limit=5)) == [29, 28, 27, 26, 25]


@pytest.mark.parametrize(("limit", "count"), [(-1, 1), (0, 1), (3, 3), (10**9, 50)])
def test_the_number_of_hits_is_bounded(session: SqliteSession, limit: int, count: int) -> None:
    add(session, [f"needle {n}" for n in range(60)])
    assert len(session.search("needle", limit=limit).hits) == count


def test_recalls_are_not_found(session: SqliteSession) -> None:
    with session.write(0) as write:
        write.add_entries([entry(0, "a needle"), entry(1, "recall: a needle", searchable=False)])
        write.add_result(StoredResult(1, tool="recall", root_seq=0))
        write.add_result(StoredResult(2, tool="recall", text="1: a needle", searchable=False))
    assert seqs(session.search("needle")) == [0]
    assert session.search("recall").missing == ("recall",)


def test_a_text_that_was_only_recalled_can_be_found_once_it_stands_for_itself(
    tmp_path: Path,
) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        session = store.session("one", create=True)
        with session.write(0) as write:
            write.add_entries([entry(0, "a needle", searchable=False)])
        store.rebuild_index()
        assert seqs(session.search("needle")) == []
        with session.write(1) as write:
            write.add_entries([entry(1, "a needle"), entry(2, "more")])
        assert (seqs(session.search("needle")), store.verify()) == ([1], [])


def test_a_result_and_the_entry_it_became_are_one_hit(session: SqliteSession) -> None:
    text = "one\ntwo\nthe needle\nfour\n"
    with session.write(0) as write:
        write.add_result(StoredResult(1, "call", "read", '{"path": "src/app.ts"}', text))
    [early] = session.search("needle").hits
    with session.write(1) as write:
        shown = f"[#0001 src/app.ts lines 1-4 of 4 sha 00]\n{text}"
        write.add_entries([StoredEntry(0, "tool", "d", shown, "read", "call")])
    [late] = session.search("needle").hits
    lines = (Line(2, "two"), Line(3, "the needle"), Line(4, "four"))
    assert early == early._replace(seq=None, number=1, kind="tool", tool="read", lines=lines)
    assert late == early._replace(seq=0)


def test_lines_of_an_entry_alone_count_its_bracket(session: SqliteSession) -> None:
    add(session, ["[#0001 other.txt]\none\nthe needle\n"])
    [hit] = session.search("needle").hits
    assert (hit.lines, hit.total_lines) == ((Line(2, "one"), Line(3, "the needle")), 3)


def test_a_text_is_found_by_its_tool_and_its_calls_arguments(session: SqliteSession) -> None:
    with session.write(0) as write:
        write.add_result(StoredResult(1, "c", "grep", '{"pattern": "foo_bar"}', "1\n2\n3\n"))
        write.add_entries([entry(0, "x\ny\nz\n", name="bash", about='{"command": "make all"}')])
    found = [session.search(query).hits[0] for query in ("foo_bar", "grep", "make all", "bash")]
    assert [(hit.seq, hit.number) for hit in found] == [(None, 1)] * 2 + [(0, None)] * 2
    assert found[0].lines == (Line(1, "1"), Line(2, "2"))


def test_the_newest_of_the_same_texts_is_named(session: SqliteSession) -> None:
    add(session, ["a needle", "other", "a needle", "more"])
    assert seqs(session.search("needle")) == [2]


def test_a_word_in_very_many_texts_costs_as_much_as_one_in_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEWEST", 50)
    with SqliteStore.open(tmp_path / "store") as store:
        session = store.session("one", create=True)
        add(session, ["common rare zebra", *(f"common {n}" for n in range(400)), "rare"])
        for indexed in (False, True):
            if indexed:
                store.rebuild_index()
            common = session.search("common", limit=3)
            both = session.search("common rare")
            assert (seqs(common), common.common) == ([400, 399, 398], ("common",))
            assert (seqs(both)[0], both.common) == (0, ("common",))


def test_a_search_reads_no_more_texts_than_it_ranks(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "store") as store:
        session = store.session("one", create=True)
        add(session, [f"common word {n}" for n in range(3_000)])
        store.rebuild_index()
        asked: list[str] = []
        with store._connections.alone() as db:
            db.set_trace_callback(asked.append)
        found = session.search("common word", limit=10)
    read = [each for each in asked if "substr(b.data" in each]
    assert (len(found.hits), found.common) == (10, ("common", "word"))
    assert len(read) == search.READ
    assert len(asked) < search.READ + 80


WORDS = st.sampled_from(
    ["alpha", "beta_gamma", "getUser", "user", "src/app.ts", "文件", "件", "x", "alpha.beta", "7"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=12)


@given(texts=TEXTS, query=st.lists(WORDS, max_size=4).map(" ".join), cut=st.integers(0, 12))
def test_nobody_can_tell_what_is_indexed_and_what_waits(
    texts: list[str], query: str, cut: int
) -> None:
    answers = []
    for groups in ([texts], [texts[:cut], texts[cut:]], [[text] for text in texts]):
        with SqliteStore.open(":memory:") as store:
            session = store.session("one", create=True)
            for number, group in enumerate(groups):
                add(session, group)
                if number == 0:
                    store.rebuild_index()
            answers.append(session.search(query))
            assert store.verify() == []
    assert answers[0] == answers[1] == answers[2]


def test_the_oldest_texts_are_indexed_once_too_many_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BEHIND_CHARS", 1_000)
    monkeypatch.setattr(index, "SLICE_CHARS", 300)
    with SqliteStore.open(tmp_path / "store") as store:
        session = store.session("one", create=True)
        waits = []
        for n in range(40):
            add(session, [f"needle {n} " + "filler " * 20])
            with store._connections.reading() as db:
                waits += db.execute("SELECT bodies - indexed, waiting_chars FROM session")
            assert len(session.search("needle", limit=50).hits) == n + 1
        assert store.verify() == []
    assert max(chars for _, chars in waits) <= 1_000
    assert {bodies for bodies, _ in waits} == {1, 2, 3, 4, 5, 6}


def test_every_process_gives_the_same_answer(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with SqliteStore.open(path) as store:
        add(store.session("one", create=True), HAY * 3 + [f"path {n} fold" for n in range(200)])
        store.rebuild_index()
    code = """
        import json, sys
        from compactor.store import SqliteStore
        with SqliteStore.open(sys.argv[1], readonly=True) as store:
            print(json.dumps(store.session("one").search("fold path join 文件 src/app.ts")))
    """
    answers = {json.dumps(run(code, path)) for _ in range(3)}
    assert len(answers) == 1
    assert json.loads(answers.pop())[0]


def sought(*words: str) -> list[Sought]:
    return [Sought(word, 10) for word in parse(" ".join(words)).words]


def test_the_lines_with_most_of_the_words_are_shown() -> None:
    text = "".join(f"{n} alpha\n" if n % 3 == 0 else f"{n}\n" for n in range(30))
    text += "beta\nalpha beta\n" + "x\n" * 5
    lines, total = lines_around(text, sought("alpha", "beta"))
    assert total == 37
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 31, 32, 33]


def test_a_word_inside_of_another_counts_less() -> None:
    lines, _ = lines_around("pathological\n\n\n\n\n\nthe path\n\n\n\nempathy\n" * 1, sought("path"))
    assert "the path" in [line.text for line in lines]
    camel, _ = lines_around("apathy apathy\n\n\n\ngetPathName\n", sought("path"))
    assert "getPathName" in [line.text for line in camel]


def test_a_long_line_is_cut_to_what_surrounds_the_match() -> None:
    text = "x " * 5_000 + "needle" + " y" * 5_000
    [line], total = lines_around(text, sought("needle"))
    assert (line.number, total) == (1, 1)
    assert "needle" in line.text
    assert line.text[0] == line.text[-1] == "…"
    assert len(line.text) == WIDTH + 2


def test_what_a_terminal_or_a_model_could_mistake_is_replaced() -> None:
    [line], _ = lines_around("\x1b[31mneedle\0\u202e\ud800\u2028\tx\r\n", sought("needle"))
    assert line.text == "\ufffd[31mneedle\ufffd\ufffd\ufffd\ufffd\tx"


@given(
    st.text(st.sampled_from("ab \n\r\0é文needle"), max_size=400)
    | st.lists(st.sampled_from(["needle", "\n", "x" * 500, " alpha "]), max_size=30).map("".join)
)
def test_lines_are_few_short_and_where_they_say(text: str) -> None:
    lines, total = lines_around(text, sought("needle", "alpha", "文"))
    every = text.split("\n")
    assert total == max(1, len(every) - text.endswith("\n"))
    assert 1 <= len(lines) <= UNITS * (1 + 2 * AROUND)
    assert [line.number for line in lines] == sorted(line.number for line in lines)
    for number, shown in lines:
        whole = every[number - 1]
        plain = (
            shown.removeprefix("…").removesuffix("…").replace("\ufffd", "\0").replace("\r", "\0")
        )
        assert len(shown) <= WIDTH + 2
        assert plain in whole.replace("\r", "\0")
