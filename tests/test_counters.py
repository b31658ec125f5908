"""Counters: the shipped vocabularies, exactness of the segments, the memo, and hostile texts."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public as published_facts  # type: ignore[import-untyped]

from compactor import counters
from compactor.core.errors import InternalError, PolicyError
from compactor.counters import CL100K, O200K, Memo, Tiktoken, Vocabulary
from compactor.loop import shipped
from compactor.segments import BOUNDARY, PIECE, WHOLE, segments

VOCABULARIES = pytest.mark.parametrize("vocabulary", [O200K, CL100K], ids=lambda v: v.name)

# What pre-tokens are made of, and what has confused tokenizers: contractions, marks, exotic blanks,
# letters and digits outside ASCII, special tokens as text.
POOL = [
    *("\n", "\n", "\r\n", "\r", " ", "  ", "\t", "a", "Ab", "AB", "'s", "'", "'S", "'ll", "I'm"),
    *("/", "//", ".", "...", "1", "12", "1234", "_", "-", "é", "\u0301", "中", "、", "。中", "（"),
    *("\u00a0", "\u2028", "\x85", "\x1c", "\u3000", "ʰ", "<|endoftext|>", "\0", "ǅ", "½", "٣"),
    *("ſ", "'ſ", "😀", "カ", "한", "\ufeff", "々", "ー"),
]


def plain(vocabulary: Vocabulary) -> tiktoken.Encoding:
    """The engine alone, without segments and memo."""
    return tiktoken.Encoding(
        vocabulary.name,
        pat_str="|".join(vocabulary.pattern),
        mergeable_ranks={t: i for i, t in enumerate(counters.read_tokens(vocabulary.name))},
        special_tokens=vocabulary.special,
    )


@pytest.fixture(scope="module")
def engines() -> dict[str, tiktoken.Encoding]:
    return {v.name: plain(v) for v in (O200K, CL100K)}


def published(name: str) -> bytes:
    """The `.tiktoken` file that a compact vocabulary was made from."""
    tokens = enumerate(counters.read_tokens(name))
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in tokens)


def strings(seed: int, number: int, most: int = 50) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(number):
        yield "".join(chance.choices(POOL, k=chance.randrange(1, most)))


# ------------------------------------------------------------------------------- the vocabularies


@VOCABULARIES
def test_the_compact_file_gives_back_the_published_file_byte_for_byte(
    vocabulary: Vocabulary,
) -> None:
    assert hashlib.sha256(published(vocabulary.name)).hexdigest() == vocabulary.sha256


@VOCABULARIES
def test_the_function_in_the_readme_makes_the_compact_file(vocabulary: Vocabulary) -> None:
    path = shipped(f"{vocabulary.name}.vocab")
    (code,) = re.findall(r"```python\n(.*?)```", path.with_name("README.md").read_text(), re.DOTALL)
    names: dict[str, Callable[[bytes], bytes]] = {}
    exec(code, names)
    made = names["compact"](published(vocabulary.name))
    assert zlib.decompress(made) == zlib.decompress(path.read_bytes())


@VOCABULARIES
def test_pattern_special_tokens_and_sha256_are_those_of_tiktoken(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: list[str] = []

    def instead_of_downloading(_url: str, expected_hash: str) -> dict[bytes, int]:
        expected.append(expected_hash)
        return {}

    monkeypatch.setattr(published_facts, "load_tiktoken_bpe", instead_of_downloading)
    assert published_facts.ENCODING_CONSTRUCTORS[vocabulary.name]() == {
        "name": vocabulary.name,
        "pat_str": "|".join(vocabulary.pattern),
        "mergeable_ranks": {},
        "special_tokens": vocabulary.special,
    }
    assert expected == [vocabulary.sha256]


def test_the_licence_lies_beside_the_vocabularies() -> None:
    text = shipped("LICENSE-tiktoken").read_text()
    assert text.startswith("MIT License\n\nCopyright (c) 2022 OpenAI")


@pytest.mark.parametrize("damage", [b"", b"not zlib", zlib.compress(b"\1")])
def test_a_damaged_vocabulary_is_an_error_that_says_what_to_do(
    damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "o200k_base.vocab"
    path.write_bytes(damage)
    monkeypatch.setattr(counters, "shipped", lambda _name: path)
    with pytest.raises(InternalError) as caught:
        counters.read_tokens("o200k_base")
    assert (caught.value.code, caught.value.path, caught.value.hint) == (
        "internal.install",
        str(path),
        "install the package again",
    )


# -------------------------------------------------------------------------------- names and loading


def test_counters_are_found_by_name_and_are_one_object_each() -> None:
    assert counters.NAMES == ("o200k_base", "cl100k_base", "chars4")
    assert [counters.get(name).name for name in counters.NAMES] == list(counters.NAMES)
    assert counters.get("o200k_base") is counters.get("o200k_base")


def test_fingerprints_name_vocabulary_and_unicode_tables() -> None:
    assert [counters.get(name).fingerprint for name in counters.NAMES] == [
        "o200k_base/446a9538cb6c348e/unicode16",
        "cl100k_base/223921b76ee99bde/unicode16",
        "chars4",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("o200k", "did you mean 'o200k_base'? "), ("gpt2", ""), ("", "")],
)
def test_an_unknown_counter_is_a_policy_error_with_the_names(name: str, meant: str) -> None:
    with pytest.raises(PolicyError) as caught:
        counters.get(name)
    error = caught.value
    assert (error.code, error.path, error.message, error.hint) == (
        "policy.range",
        "counter",
        f"unknown counter {name!r}",
        f"{meant}known: o200k_base, cl100k_base, chars4, claude_v3, claude_v4_7",
    )


def test_a_first_count_needs_no_network_and_nothing_is_loaded_before_it() -> None:
    script = """
import socket, sys
def refuse(*a, **k): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = refuse
from compactor import counters
counter = counters.get("o200k_base")
assert counters.get("chars4").count("hello") == 2 and counter.count("") == 0
assert "tiktoken" not in sys.modules
assert counter.count("hello world") == 2
assert "tiktoken" in sys.modules
assert not {"requests", "tiktoken_ext.openai_public"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_threads_that_count_at_once_load_one_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    read = counters.read_tokens

    def counted(name: str) -> list[bytes]:
        loads.append(name)
        return read(name)

    monkeypatch.setattr(counters, "read_tokens", counted)
    counter, start = Tiktoken(CL100K, Memo()), threading.Barrier(6)

    def count(text: str) -> int:
        start.wait()
        return counter.count(text)

    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(count, ["a", "a b", "a b c", "a b c d", "a b c d e", ""]))
    assert (counts, loads) == ([1, 2, 3, 4, 5, 0], ["cl100k_base"])


# --------------------------------------------------------------------------------------- exactness


@VOCABULARIES
def test_counts_are_those_of_plain_tiktoken(
    vocabulary: Vocabulary, engines: dict[str, tiktoken.Encoding]
) -> None:
    counter, engine = counters.get(vocabulary.name), engines[vocabulary.name]
    for text in strings(1, 5_000):
        assert counter.count(text) == len(engine.encode_ordinary(text)), ascii(text)


@VOCABULARIES
def test_cutting_at_every_boundary_gives_the_same_tokens(
    vocabulary: Vocabulary, engines: dict[str, tiktoken.Encoding]
) -> None:
    encode, cuts = engines[vocabulary.name].encode_ordinary, 0
    for text in strings(2, 20_000):
        pieces = cut(BOUNDARY, text)
        cuts += len(pieces) - 1
        assert [t for piece in pieces for t in encode(piece)] == encode(text), ascii(text)
    assert cuts > 100_000


@VOCABULARIES
@pytest.mark.parametrize(
    "wrong",
    [r"(?<=\n)", r"(?<= )", r"(?<=')(?=s)", r"(?<=[0-9])(?=[0-9])", r"(?<=\.)(?=[a-z])"],
)
def test_a_wrong_boundary_would_be_noticed(
    wrong: str, vocabulary: Vocabulary, engines: dict[str, tiktoken.Encoding]
) -> None:
    encode = engines[vocabulary.name].encode_ordinary
    assert any(
        [t for piece in cut(re.compile(wrong), text) for t in encode(piece)] != encode(text)
        for text in strings(2, 20_000)
    )


def cut(boundary: re.Pattern[str], text: str) -> list[str]:
    places = [m.start() for m in boundary.finditer(text) if 0 < m.start() < len(text)]
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@VOCABULARIES
def test_a_long_mixed_text_counts_as_plain_tiktoken_counts_it(
    vocabulary: Vocabulary, engines: dict[str, tiktoken.Encoding]
) -> None:
    text = "".join(strings(3, 25_000))
    assert len(list(segments(text))) > 5
    counted = counters.get(vocabulary.name).count(text)
    assert counted == len(engines[vocabulary.name].encode_ordinary(text))


@pytest.mark.parametrize("length", [1, WHOLE, WHOLE + 1, WHOLE + PIECE, 3 * PIECE, 1_000_000])
@pytest.mark.parametrize("unit", ["a", "a b\n", "x1", "中。", "\n", "line\r\n"])
def test_segments_are_the_text_in_bounded_pieces(unit: str, length: int) -> None:
    text = (unit * length)[:length]
    pieces = list(segments(text))
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= (PIECE if length > WHOLE else WHOLE)
    assert all(pieces)


UNBROKEN = {
    "blanks": " ",
    "newlines": "\n",
    "newlines and blanks": "\n ",
    "digits": "7",
    "cjk": "中",
    "emoji": "😀",
    "nul": "\0",
    "letters": "".join(random.Random(5).choices("etaoinshrdlucmfw", k=300_001)),
    "marks": "".join(random.Random(6).choices("!#$%&()*+,-./:;<=>?@[]^_{|}~", k=300_001)),
}


@VOCABULARIES
@pytest.mark.parametrize("kind", UNBROKEN)
def test_an_unbroken_text_is_at_most_one_token_a_cut_off(
    kind: str, vocabulary: Vocabulary, engines: dict[str, tiktoken.Encoding]
) -> None:
    unit = UNBROKEN[kind]
    text = (unit * (WHOLE // len(unit) + 2))[: WHOLE + 1]
    exact = len(engines[vocabulary.name].encode_ordinary(text))
    assert abs(counters.get(vocabulary.name).count(text) - exact) <= 2
    assert len(list(segments(text))) == 3


# ---------------------------------------------------------------------------------- hostile texts

# A million blanks in a row raise a panic in plain tiktoken. The exact counts were taken piece by
# piece: a run of blanks is one piece, without its last blank when a word follows.
M = 1_000_000
PANICS = {
    "spaces": (" " * M, 7_813),
    "spaces before a word": (" " * M + "x", 7_814),
    "spaces before a newline": (" " * M + "\n", 7_814),
    "spaces after a word": ("x." + " " * M + "y", 7_816),
    "newlines, then spaces": ("\n" * M + " " * M + "q", 70_314),
    "tabs": ("\t" * M + "z", 62_501),
    "no-break spaces": ("\xa0" * M, 125_000),
    "lines, then wide spaces": ("word word\n" * 40_000 + "\u3000" * M + "中", 182_503),
}


@pytest.mark.parametrize("kind", PANICS)
def test_a_million_blanks_are_counted_to_within_one_token(kind: str) -> None:
    text, exact = PANICS[kind]
    assert abs(counters.get("o200k_base").count(text) - exact) <= 1


@VOCABULARIES
def test_text_that_looks_like_a_special_token_is_text(vocabulary: Vocabulary) -> None:
    counter = counters.get(vocabulary.name)
    assert [counter.count(token) > 3 for token in vocabulary.special] == [True] * len(
        vocabulary.special
    )
    assert counter.count("<|endoftext|>") == 7


@VOCABULARIES
def test_surrogates_are_joined_or_replaced_and_never_raise(vocabulary: Vocabulary) -> None:
    count = counters.get(vocabulary.name).count
    assert count("x\ud83d\ude00y") == count("x😀y")
    assert count("a\ud800") == count("a\ufffd")
    assert count("\udc00\ud800b") == count("\ufffd\ufffdb")


def test_a_cut_never_parts_a_surrogate_pair() -> None:
    joined = "中" * (PIECE - 1) + "😀" + "中" * WHOLE
    parted = joined.replace("😀", "\ud83d\ude00")
    assert counters.get("o200k_base").count(parted) == counters.get("o200k_base").count(joined)


# ---------------------------------------------------------------------------------------- the memo


def test_a_text_is_counted_once() -> None:
    memo, asked = Memo(), list[str]()

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    long = "x" * 100_000
    assert [memo.get_or("c", text, count) for text in ("ab", "ab", long, long, "ab")] == [
        2, 2, 100_000, 100_000, 2,
    ]  # fmt: skip
    assert asked == ["ab", long]


def test_counters_do_not_see_each_others_counts() -> None:
    memo = Memo()
    text = "naïve 中文 text"
    both = [Tiktoken(O200K, memo).count(text), Tiktoken(CL100K, memo).count(text)]
    assert (both, len(memo)) == ([5, 6], 2)


def test_the_memo_forgets_the_least_recently_used_first_and_stays_in_its_bytes() -> None:
    memo, asked = Memo(limit_bytes=3_500), list[str]()

    def count(text: str) -> int:
        asked.append(text[0])
        return len(text)

    for letter in "abcdabeb":  # texts of some 900 bytes: three fit
        memo.get_or("c", letter * 600, count)
        assert memo.size_bytes <= memo.limit_bytes
    assert "".join(asked) == "abcdabe"
    assert len(memo) == 3


def test_a_text_larger_than_the_memo_is_counted_and_not_kept() -> None:
    memo = Memo(limit_bytes=100)
    assert memo.get_or("c", "x" * 600, len) == 600
    assert (len(memo), memo.size_bytes) == (0, 0)


def test_the_memo_does_not_keep_a_long_text_alive() -> None:
    memo = Memo()
    memo.get_or("c", "x" * 5_000_000, len)
    memo.get_or("c", "\ud800" * 5_000_000, len)
    assert len(memo) == 2
    assert memo.size_bytes < 1_000


def test_threads_count_as_one_thread_does() -> None:
    texts = [*strings(7, 1_500)]
    counter = Tiktoken(O200K, Memo(limit_bytes=50_000))
    alone = [counter.count(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = [*pool.map(lambda _: [counter.count(text) for text in texts], range(8))]
    assert together == [alone] * 8


# ------------------------------------------------------------------------------ the engine's tables


def test_no_code_point_is_counted_otherwise_than_when_the_engine_was_tagged(
    engines: dict[str, tiktoken.Encoding],
) -> None:
    """Tiktoken 0.13 and 0.14 pass. One that fails needs another `ENGINE` tag.

    The pattern of o200k_base tells more classes of characters apart than that of cl100k_base.
    """
    encode, digest = engines["o200k_base"].encode_ordinary, hashlib.sha256()
    for block in code_point_blocks():
        text = "".join(f"{x}_a {x}'s 1{x}2  {x}\n/" for x in map(chr, block))
        digest.update(b"%d," % len(encode(text)))
    assert digest.hexdigest() == "9780f6576e428059bcfe9e17b0e67ea074305bd9d6efb6371199f68dd5db369c"


def test_the_engine_knows_the_letters_of_unicode_16_and_not_of_17(
    engines: dict[str, tiktoken.Encoding],
) -> None:
    encode = engines["o200k_base"].encode_ordinary

    def is_letter(character: str) -> bool:  # only behind a letter is `'s` one token
        return len(encode(character + "'s")) == len(encode(character)) + 1

    assert [is_letter(x) for x in ("é", "\U000105c0", "\U000323b0")] == [True, True, False]


def code_point_blocks() -> Iterator[range]:
    """All planes in which characters are assigned, save surrogates and private use planes."""
    for plane in (0, 1, 2, 3, 14):
        for first in range(plane << 16, plane + 1 << 16, 256):
            if not 0xD800 <= first < 0xE000:
                yield range(first, first + 256)
