"""An unchanged read and the same search again: seed 000 sections 2 and 6, DESIGN section 7."""

from __future__ import annotations

import pytest

from compactor.core.brackets import Brackets
from compactor.core.facts import Facts
from tests.hygiene_kit import ABC, TEXTS, Hand, numbered, sha_of

# 2. An unchanged re-read is a stub


def test_an_unchanged_range_is_a_stub() -> None:
    hand = Hand()
    full, stub = hand.read("a.txt", ABC), hand.read("a.txt", ABC, offset=2, limit=1)
    bracket = "[#0002 a.txt lines 2-2 of 3 sha 4fdbc441]"
    assert full.shown == "[#0001 a.txt lines 1-3 of 3 sha 4fdbc441]\n1: alpha\n2: beta\n3: gamma"
    assert stub.shown == f"{bracket} Unchanged since #0001, which already shows lines 1-3."
    assert stub.facts == Facts(
        2, "stub", len(bracket), "a.txt", "/p/a.txt", 2, 2, 3, sha_of(ABC), target=1
    )


def test_a_stub_stores_the_text_that_it_stands_for() -> None:
    hand = Hand()
    hand.read("a.txt", ABC)
    assert hand.read("a.txt", ABC, offset=2, limit=1).stored == "2: beta"
    assert hand.read("a.txt", ABC, offset=3, output="gamma\n").stored == "gamma\n"


def test_a_stub_points_at_a_full_result_and_never_at_a_stub() -> None:
    hand = Hand()
    hand.read("a.txt", ABC)
    stubs = [hand.read("a.txt", ABC).facts for _ in range(3)]
    assert [(stub.kind, stub.target) for stub in stubs] == [("stub", 1)] * 3


def test_of_several_that_show_the_lines_the_newest_is_named() -> None:
    hand, content = Hand(), numbered(1, 100)
    hand.read("a", content, offset=1, limit=50)
    hand.read("a", content, offset=30, limit=71)
    assert hand.read("a", content, offset=40, limit=5).shown.endswith(
        "] Unchanged since #0002, which already shows lines 30-100."
    )
    assert hand.read("a", content, offset=10, limit=5).shown.endswith(
        "] Unchanged since #0001, which already shows lines 1-50."
    )


def test_a_range_that_reaches_past_the_earlier_read_is_read_in_full() -> None:
    hand, content = Hand(), numbered(1, 100)
    hand.read("a", content, offset=1, limit=50)
    hand.read("a", content, offset=51, limit=50)
    assert hand.read("a", content, offset=50, limit=2).facts.kind == "read"


def test_a_file_that_changed_is_read_in_full() -> None:
    hand = Hand()
    hand.read("a.txt", ABC)
    assert hand.read("a.txt", ABC.rstrip("\n")).facts.kind == "read"
    assert hand.read("b.txt", ABC).facts.kind == "read"


def test_what_does_not_stand_before_the_model_is_not_named() -> None:
    hand = Hand()
    hand.read("a.txt", ABC)
    hand.known.gone.add(1)
    assert hand.read("a.txt", ABC).facts.kind == "read"
    assert hand.read("a.txt", ABC).facts.target == 2


def test_an_empty_file_read_again_is_a_stub_without_lines() -> None:
    hand = Hand()
    hand.read("notes.txt", "")
    again = hand.read("notes.txt", "")
    assert again.shown == "[#0002 notes.txt empty sha e3b0c442] Unchanged since #0001."


def test_a_failed_read_is_neither_a_stub_nor_the_target_of_one() -> None:
    hand = Hand()
    failed = hand.read("a.txt", ABC, error=True, output="EIO")
    assert (failed.shown, failed.facts) == ("[#0001]\nEIO", Facts(1, "result", 7, failed=True))
    assert hand.read("a.txt", ABC).facts.kind == "read"
    assert hand.read("a.txt", ABC, error=True, output="EIO").shown == "[#0003]\nEIO"


def test_a_read_with_a_note_is_in_full_and_can_be_named() -> None:
    hand = Hand()
    hand.read("a.txt", ABC)
    noted = hand.read("a.txt", ABC, note="Locked.")
    assert noted.shown.endswith("3: gamma\nLocked.")
    assert hand.read("a.txt", ABC).facts.target == 2


# 6. The same search or listing twice is a stub


def test_the_same_search_with_the_same_result_is_a_stub() -> None:
    hand = Hand(0x26)
    full = hand.insert("grep", '{"pattern": "TODO", "path": "src"}', "a.py:1\n")
    again = hand.insert("grep", '{"path":"src","pattern":"TODO"}', "a.py:1\n")
    assert (again.shown, again.stored) == ("[#0027] Same result as #0026.", "a.py:1\n")
    assert again.facts == Facts(0x27, "same", 7, target=0x26, same_key=full.facts.same_key)


def test_a_search_whose_result_changed_is_in_full_and_named_from_then_on() -> None:
    hand, arguments = Hand(), {"pattern": "TODO"}
    texts = ["a\n", "b\n", "b\n", "a\n"]
    targets = [hand.insert("grep", arguments, text).facts.target for text in texts]
    assert targets == [0, 0, 2, 1]
    hand.known.gone.add(1)
    assert hand.insert("grep", arguments, "a\n").facts.kind == "result"


@pytest.mark.parametrize(
    ("tool", "targets"),
    [
        ("list", [0, 1]),
        ("glob", [0, 1]),
        ("search", [0, 1]),
        ("mcp__files__search", [0, 1]),
        ("bash", [0, 0]),
        ("search_more", [0, 0]),
        ("Grep", [0, 0]),
    ],
)
def test_only_listings_and_searches_are_compared(tool: str, targets: list[int]) -> None:
    hand = Hand()
    assert [hand.insert(tool, {"a": 1}, "x").facts.target for _ in range(2)] == targets


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ('{"a": {"c": 1, "b": [1, 2]}}', '{"a":{"b":[1,2],"c":1}}', True),
        ('{"a": "\\u00e9"}', '{"a": "é"}', True),
        ('{"a": [1, 2]}', '{"a": [2, 1]}', False),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": null}', "{}", False),
        ('{"a": 1e5}', '{"a": 1E5}', False),
        ("no JSON", "no JSON", True),
        ("[" * 5000, "[" * 5000, True),
        ('{"a": 1' + "0" * 5000 + "}", '{"a":1' + "0" * 5000 + "}", True),
    ],
)
def test_arguments_are_compared_as_json_with_sorted_keys(
    first: str, second: str, equal: bool
) -> None:
    hand = Hand()
    hand.insert("grep", first, "x")
    assert (hand.insert("grep", second, "x").facts.kind == "same") is equal


def test_two_tools_are_two_searches() -> None:
    hand = Hand()
    hand.insert("grep", {}, "x")
    assert hand.insert("search", {}, "x").facts.kind == "result"


def test_a_failed_search_is_neither_a_stub_nor_the_target_of_one() -> None:
    hand = Hand()
    kinds = [hand.insert("grep", {}, "x", error=error).facts.kind for error in (True, False, True)]
    assert kinds == ["result"] * 3


def test_texts_are_compared_before_the_cap() -> None:
    hand, text = Hand(), numbered(1, 500)
    hand.insert("grep", {}, text)
    assert hand.insert("grep", {}, text.replace("line 250\n", "line x\n")).facts.kind == "result"
    assert hand.insert("grep", {}, text).facts.target == 1


def test_a_result_with_an_image_is_never_a_stub() -> None:
    hand, output = Hand(), [{"type": "text", "text": "x"}, {"type": "image"}]
    assert [hand.insert("grep", {}, output).facts.same_key for _ in range(2)] == ["", ""]


# what stubs become


def test_a_stub_whose_target_went_says_so_and_gets_its_text_back() -> None:
    hand, words = Hand(), Brackets(TEXTS)
    full = hand.read("a.txt", ABC)
    stub = hand.read("a.txt", ABC, offset=2, limit=1)
    bracket = "[#0002 a.txt lines 2-2 of 3 sha 4fdbc441]"
    assert words.named(stub.facts, full.facts) == stub.body
    assert words.gone(stub.facts) == f"{bracket} [elided with #0001]"
    assert words.shown(stub.facts, stub.stored) == f"{bracket}\n2: beta"


def test_a_search_that_gets_its_text_back_is_capped_as_it_would_have_been() -> None:
    hand, words, text = Hand(), Brackets(TEXTS), numbered(1, 500)
    first = hand.insert("grep", {}, text)
    stub = hand.insert("grep", {}, text)
    assert words.gone(stub.facts) == "[#0002] [elided with #0001]"
    assert words.named(stub.facts, first.facts) == "[#0002] Same result as #0001."
    assert words.shown(stub.facts, stub.stored) == first.body.replace("#0001", "#0002")
