"""The words that texts are found by, and the same decisions without the index."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactor.store import index
from compactor.store.query import QUERY_CHARS, QUERY_WORDS, parse
from compactor.store.waiting import Waiting
from compactor.store.words import _FOLD, chains, fold, words
from tests.store_kit import run

WORDS = {
    "extract_path_join": "extract path join extract_path path_join",
    "src/app.ts": "src app ts src_app app_ts",
    "getUserName": "getusername get user name get_user user_name",
    "HTTPServer": "httpserver http server http_server",
    "ev_3a91f0c2": "ev 3a91f0c2 ev_3a91f0c2",
    "a.b:12": "a b 12 a_b b_12",
    "std::vector<int>": "std vector std_vector int",
    "C:\\new\\src": "c new src c_new new_src ew",
    r"only\nwithin": "only nwithin only_nwithin within",
    r"\u00e9t\u00e9": "u00e9t u00e9 u00e9t_u00e9 t",
    r'"\nerror"': "nerror error",
    "\\\\server\\share": "server share server_share",
    "192.168.0.1": "192 168 0 1",
    "python3 v2": "python3 python v2",
    "3A91F0C2": "3a91f0c2",
    "__init__": "init",
    "don't": "don t",
    "Résumé re\u0301sume\u0301 RESUME": "resume",
    "ΣΟΦΟΣ σοφος": "σοφοσ",
    "Ёлка ЕЛКА": "елка",
    "ｆｕｌｌ": "full",
    "文件路径": "文 件 路 径 文件 件路 路径",
    "读取file.txt": "读 取 读取 file txt file_txt",
    "파일을": "파 일 을 파일 일을",
    "ไทย": "ไ ท ย ไท ทย",
    "✅ done → 💥": "✅ done → 💥",
    "a\0b\ud800c": "a b c",
    "…—«»“”¿¡": "",
    "A" * 100: "a" * 64,
}


@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_the_words_of_a_text(text: str) -> None:
    assert words(text) == WORDS[text].split()


def test_folding_is_the_same_for_every_python() -> None:
    table = json.dumps(sorted(_FOLD.items())).encode()
    assert hashlib.sha256(table).hexdigest()[:16] == "9acdf1d2daf28379"


any_text = st.text(
    st.characters(codec=None) | st.sampled_from("aAbZ019_./\\:-@ \n\0\ud800éÉ\u0301文件한→✅nrtu"),
    max_size=40,
)
PIECES = (
    "get",
    "User",
    "name",
    "_",
    ".",
    "/",
    "\\",
    "\\n",
    "::",
    " ",
    "HTTP",
    "12",
    "é",
    "e\u0301",
)
built = st.lists(st.sampled_from((*PIECES, "文件", "件", "→", "X", "a")), max_size=14).map("".join)


@given(any_text)
def test_a_folded_text_has_its_characters_in_their_places(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)
    assert [fold(character) for character in text] == list(fold(text))


@given(any_text | built)
def test_words_are_what_the_index_can_hold(text: str) -> None:
    for word in words(text):
        assert word.strip() == word != ""
        assert fold(word) == word
        assert not set(' "*^(){}[]+-:,;\0') & set(word)


@given(any_text | built, any_text, any_text)
def test_the_words_of_a_whole_are_those_of_its_lines(one: str, other: str, third: str) -> None:
    together = set(words("\n".join((one, other, third))))
    assert together == {*words(one), *words(other), *words(third)}


@given(built)
def test_every_chain_of_a_text_finds_it(text: str) -> None:
    found = set(words(text))
    for match in chains(text):
        for word in parse(match.group()).words:
            assert any(found.issuperset(reading.words) for reading in word.readings)


@given(text=built | any_text, about=built, query=built | any_text)
@example(text="getUser", about="", query="user")
@example(text="for error", about="", query="or")
@example(text="a\u0301bc", about="", query="abc")
@example(text=r"x\nwithin", about="", query="within")
@example(text="pRompt.service", about="", query="prompt_service")
@example(text="12.34", about="", query="12.34")
@example(text="文\u0301件", about="", query="文件")
def test_a_waiting_text_holds_a_word_when_the_index_would_say_so(
    text: str, about: str, query: str
) -> None:
    held = set(index.words_of(text, about))
    for word in parse(query).words:
        wanted = any(held.issuperset(reading.words) for reading in word.readings)
        assert Waiting(1, text, about).holds(word) == wanted


def test_a_query_is_cut_to_what_is_looked_at() -> None:
    many = parse(" ".join(f"w{n}" for n in range(10_000)))
    long = parse("x" * 10**6)
    assert (len(many.words), many.cut) == (QUERY_WORDS, True)
    assert (len(long.words[0].spelled), long.cut) == (QUERY_CHARS, True)
    assert not parse("a b").cut


def test_other_processes_find_the_same_words() -> None:
    code = """
        import json, sys
        from compactor.store.words import words
        print(json.dumps(words(json.loads(sys.argv[1]))))
    """
    text = "\n".join(WORDS)
    assert run(code, json.dumps(text)) == words(text)
