"""Claude's counters: with the package that counts, and without it.

Either half is collected, by what is installed: ctok needs Python 3.12.
"""

from __future__ import annotations

import importlib
import importlib.util
import random

import pytest

from compactor import counters
from compactor.core.errors import PolicyError

NAMES = ("claude_v3", "claude_v4_7")
HAS_CTOK = importlib.util.find_spec(counters.CTOK) is not None

if not HAS_CTOK:

    @pytest.mark.parametrize("name", NAMES)
    def test_a_counter_whose_package_is_missing_says_what_to_install(name: str) -> None:
        with pytest.raises(PolicyError) as refused:
            counters.get(name)
        assert (refused.value.code, refused.value.path) == ("policy.not_installed", "counter")
        assert refused.value.message == (
            f"the counter {name!r} needs the package ctok, which is not installed"
        )
        assert refused.value.hint.startswith("pip install 'transcript-compactor[claude]'")


if HAS_CTOK:
    ctok = importlib.import_module(counters.CTOK)
    VERSIONS = {"claude_v3": "3.0", "claude_v4_7": "4.8"}
    TEXTS = (
        *("x", "hello, world", " lead", "\n\n", "def f(x):\n    return x + 1\n", "日本語 💥"),
        *("\ud800", "a\ud800\udc00b", "\0", "<|endoftext|>", "A" * 3000, '{"a": [1, 2]}'),
    )

    @pytest.mark.parametrize("name", NAMES)
    def test_a_count_is_that_of_a_message_without_what_frames_it(name: str) -> None:
        counter, version = counters.get(name), VERSIONS[name]
        assert counter.count("x") == 1
        frame = ctok.token_count("x", version) - 1
        for text in TEXTS:
            assert counter.count(text) == ctok.token_count(text, version) - frame
        assert counter.count("") == 0

    @pytest.mark.parametrize("name", NAMES)
    def test_any_text_has_a_count(name: str) -> None:
        chance = random.Random(7)
        for _ in range(200):
            text = "".join(chr(chance.randrange(0x110000)) for _ in range(40))
            assert 0 < counters.get(name).count(text) <= 4 * len(text) + 8

    @pytest.mark.parametrize("name", NAMES)
    def test_a_fingerprint_names_the_package_and_the_unicode_tables(name: str) -> None:
        own, package, tables = counters.get(name).fingerprint.split("/")
        assert own == name
        assert package.startswith("ctok-1.3.")
        assert tables.startswith("unicode-")
        assert counters.get(name) is counters.get(name)


def test_claudes_counters_are_known_by_name_and_ship_no_data() -> None:
    assert set(counters.KNOWN) - set(counters.NAMES) == set(NAMES)
