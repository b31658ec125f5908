"""Ids, caps, blocks and recalls of inserted results: seed 000, DESIGN section 7."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactor.core import hygiene
from compactor.core.errors import InputError
from compactor.core.facts import Facts
from compactor.loop import loop
from tests.hygiene_kit import ABC, TEXTS, Hand, numbered

# 1. Every result has an id


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1, "#0001"), (2, "#0002"), (10, "#000a"), (0x0012, "#0012"), (0x10000, "#10000")],
)
def test_an_id_is_the_number_in_lowercase_hex_with_four_digits_at_least(
    number: int, shown: str
) -> None:
    assert hygiene.shown_id(number, TEXTS.ids) == shown
    assert Hand(number).insert(output="x").shown == f"[{shown}]\nx"


def test_a_result_is_its_id_in_brackets_a_newline_and_the_output() -> None:
    inserted = Hand().insert(output="two\nlines\n")
    assert inserted == hygiene.Inserted(
        "[#0001]\ntwo\nlines\n", "[#0001]\ntwo\nlines\n", "two\nlines\n", Facts(1, "result", 7)
    )


@pytest.mark.parametrize("output", ["", None])
def test_nothing_below_a_bracket_is_no_newline_either(output: Any) -> None:
    inserted = Hand().insert(output=output)
    assert (inserted.shown, inserted.stored) == ("[#0001]", "")


# 3. Large output is capped on the way in


def test_a_result_at_the_caps_is_in_full() -> None:
    lines = "x" * 99 + "\n"
    assert Hand().insert(output=lines * 400).shown == "[#0001]\n" + lines * 400
    assert Hand().insert(output="x" * 40_000).shown == "[#0001]\n" + "x" * 40_000


def test_a_line_too_many_leaves_a_head_and_a_tail() -> None:
    text = numbered(1, 1534)
    inserted = Hand(0x20).insert(output=text)
    middle = "[1234 lines elided, full output #0020]\n"
    assert inserted.shown == f"[#0020]\n{numbered(1, 200)}{middle}{numbered(1435, 1534)}"
    assert inserted.stored == text


def test_a_character_too_many_leaves_whole_lines_that_fit() -> None:
    line = "x" * 999 + "\n"
    shown = Hand().insert(output=line * 40 + "x").body
    middle = "[11 lines elided, full output #0001]\n"
    assert shown == "[#0001]\n" + line * 20 + middle + line * 9 + "x"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_giant_first_line_is_cut_and_the_elided_line_follows(end: str) -> None:
    inserted = Hand().insert(output="X" * 300_000 + end)
    head = "X" * 20_000 + "[…cut]"
    assert inserted.shown == f"[#0001]\n{head}\n[0 lines elided, full output #0001]"


def test_a_giant_first_line_has_a_tail_behind_it() -> None:
    shown = Hand().insert(output="X" * 300_000 + "\n" + numbered(1, 300)).body
    head = "X" * 20_000 + "[…cut]\n"
    middle = "[200 lines elided, full output #0001]\n"
    assert shown == f"[#0001]\n{head}{middle}{numbered(201, 300)}"


def test_a_giant_line_elsewhere_is_elided_as_a_line() -> None:
    pre, post = numbered(1, 20, "pre {}"), numbered(1, 20, "post {}")
    shown = Hand().insert(output=f"{pre}{'Y' * 200_000}\n{post}").body
    assert shown == f"[#0001]\n{pre}[1 lines elided, full output #0001]\n{post}"
    last = Hand().insert(output=pre + "Y" * 200_000).body
    assert last == f"[#0001]\n{pre}[1 lines elided, full output #0001]"


def test_what_a_cap_leaves_can_be_sent() -> None:
    text = "a\ud83d\n" + numbered(1, 500) + "z\ude00"
    inserted = Hand().insert(output=text)
    inserted.shown.encode()
    assert inserted.shown.startswith("[#0001]\na\ufffd\n")
    assert inserted.stored == text
    assert Hand().insert(output="a\ud83d").shown == "[#0001]\na\ud83d"


def test_reads_and_recalls_are_not_capped() -> None:
    text = numbered(1, 1500)
    assert Hand().read("a", text, output=text).stored == text
    assert Hand().read("a", text, output=text).shown.endswith("\nline 1499\nline 1500\n")
    assert Hand().insert("read", {"path": "a"}, text).shown == f"[#0001]\n{text}"
    assert Hand().insert("mcp__x__recall", {"seq": 61}, text).shown == f"[#0001]\n{text}"


@pytest.mark.parametrize("output", [numbered(1, 2001), "x" * 200_001])
def test_a_read_without_facts_that_has_no_window_is_capped(output: str) -> None:
    assert "full output #0001" in Hand().insert("read", {"path": "a"}, output).shown


def test_a_failed_call_has_an_id_and_the_cap() -> None:
    inserted = Hand().insert("read", {"path": "a"}, numbered(1, 1500), error=True)
    assert "[1200 lines elided, full output #0001]\n" in inserted.shown
    assert inserted.facts.failed


# blocks


def test_blocks_have_the_bracket_in_front_as_a_text_of_their_kind() -> None:
    image = {"type": "input_image", "image_url": "data:…"}
    cases: list[tuple[list[Any], Any]] = [
        ([{"type": "text", "text": "a"}], {"type": "text", "text": "[#0001]"}),
        ([{"type": "input_text", "text": "a"}], {"type": "input_text", "text": "[#0001]"}),
        ([{"text": "a"}], {"text": "[#0001]"}),
        ([{"image": {"format": "png"}}], {"text": "[#0001]"}),
        ([image], {"type": "input_text", "text": "[#0001]"}),
        ([{"type": "image"}], {"type": "text", "text": "[#0001]"}),
        ([], {"type": "text", "text": "[#0001]"}),
        (["a"], "[#0001]"),
    ]
    for blocks, bracket in cases:
        given = json.dumps(blocks)
        assert Hand().insert(output=blocks).shown == [bracket, *blocks]
        assert json.dumps(blocks) == given


def test_the_body_of_blocks_is_their_texts() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    inserted = Hand().insert(output=blocks)
    assert (inserted.body, inserted.stored) == ("[#0001]\na\nb", "a\nb")


def test_a_block_without_a_type_is_a_text_and_an_image_with_words_is_none() -> None:
    inserted = Hand().insert(output=[{"text": "a"}, {"type": "image", "text": "alt"}, "b"])
    assert (inserted.body, inserted.stored) == ("[#0001]\na\nb", "a\nb")


def test_capped_blocks_are_one_text_beside_the_others() -> None:
    image = {"type": "image"}
    blocks = [
        image,
        {"type": "text", "text": numbered(1, 300), "kept": 1, "cache_control": {"ttl": "5m"}},
        {"type": "image", "n": 2},
        {"type": "text", "text": numbered(301, 500), "cache_control": {"ttl": "1h"}},
    ]
    inserted = Hand().insert(output=blocks)
    # texts are joined with a newline, which is an empty line here
    capped = f"{numbered(1, 200)}[201 lines elided, full output #0001]\n{numbered(401, 500)}"
    assert inserted.shown == [
        {"type": "text", "text": "[#0001]"},
        image,
        {"type": "text", "text": capped, "kept": 1, "cache_control": {"ttl": "1h"}},
        {"type": "image", "n": 2},
    ]
    assert inserted.body == f"[#0001]\n{capped}"


def test_a_stub_for_blocks_is_one_block() -> None:
    hand = Hand()
    for _ in range(2):
        again = hand.read("a", ABC, output=[{"type": "text", "text": ABC}])
    assert again.shown == [{"type": "text", "text": again.body}]
    assert again.facts.kind == "stub"


@pytest.mark.parametrize("output", [{"a": 1}, b"bytes", 3, {"type": "text", "text": "a"}])
def test_an_output_that_is_no_text_and_no_list_is_refused(output: Any) -> None:
    with pytest.raises(InputError) as refused:
        Hand().insert(output=output)
    assert (refused.value.code, refused.value.path) == ("input.shape", "output")


# 4. recall


def recalled(id: str, text: str | None, *window: int | None) -> str:  # noqa: A002
    offset, limit = window or (None, None)
    return hygiene.recall(0x21, id, text, offset, limit, TEXTS).body


def test_a_recall_shows_up_to_2000_lines_from_an_offset() -> None:
    text = numbered(1, 3400)
    assert recalled("0020", text) == (
        f"[#0021 recall #0020 lines 1-2000 of 3400]\n{numbered(1, 2000)}"
    )
    assert recalled("#0020", text, 2001, 5000) == (
        f"[#0021 recall #0020 lines 2001-3400 of 3400]\n{numbered(2001, 3400)}"
    )
    assert recalled("20", text, 7, 1) == "[#0021 recall #0020 lines 7-7 of 3400]\nline 7\n"
    assert recalled("20", text, -3, -1) == "[#0021 recall #0020 lines 1-1 of 3400]\nline 1\n"


def test_an_id_that_the_session_never_gave_is_said() -> None:
    assert recalled("ffff", None) == "[#0021] No stored result #ffff in this session."
    assert recalled("#FFFF", None) == "[#0021] No stored result #ffff in this session."
    assert recalled("12", None) == "[#0021] No stored result #0012 in this session."


def test_what_is_no_id_is_said_again_on_one_line_and_cut() -> None:
    assert recalled("src/a b\n[#0001]", None) == (
        "[#0021] No stored result src/a b [#0001\\] in this session."
    )
    assert len(recalled("x" * 1000, None)) < 120


def test_a_recall_past_the_end_and_of_nothing_say_so() -> None:
    assert recalled("20", "a\nb", 3, 1) == "[#0021] No line 3 in #0020, which has 2 lines."
    assert recalled("20", "") == "[#0021 recall #0020 empty]"
    assert recalled("20", "", 2, 1) == "[#0021] No line 2 in #0020, which has 0 lines."


def test_a_giant_line_is_recalled_whole() -> None:
    text = "X" * 300_000
    assert recalled("20", text) == f"[#0021 recall #0020 lines 1-1 of 1]\n{text}"


@pytest.mark.parametrize(
    ("text", "number"),
    [("0012", 0x12), ("#0012", 0x12), ("12", 0x12), ("00FF", 255), (" #00ff ", 255)],
)
def test_an_id_is_known_however_it_is_written(text: str, number: int) -> None:
    assert hygiene.parse_id(text) == number


@pytest.mark.parametrize("text", ["", "#", "0x12", "##12", "g", "123456789", "٣", "12\n", "1_2"])
def test_what_is_no_id_has_no_number(text: str) -> None:
    assert hygiene.parse_id(text) is None


@pytest.mark.parametrize(
    ("arguments", "root"),
    [
        ({"id": "0001"}, (1, None)),
        ({"id": "#0002"}, (1, None)),
        ({"seq": 61}, (0, 61)),
        ({"seq": 0}, (0, 0)),
        ({"seq": 10**18}, (0, None)),
        ({"seq": True}, (0, None)),
        ({"id": "3"}, (0, 61)),
        ({"id": "0f"}, (0, None)),
        ({"query": "x"}, (0, None)),
        ({"id": 1}, (0, None)),
    ],
)
def test_a_harnesss_own_recall_names_the_original(
    arguments: Any, root: tuple[int, int | None]
) -> None:
    hand = Hand()
    hand.insert(output="x")
    hand.insert("recall", {"id": "1"}, "x")
    hand.insert("recall", {"seq": 61}, "x")
    facts = hand.insert("mcp__x__recall", arguments, "x").facts
    assert (facts.kind, facts.root, facts.root_seq) == ("recall", *root)


# what is no bracket of ours


def test_output_that_looks_like_a_bracket_stays_as_it_is() -> None:
    for output in (
        "[#0001]\nx",
        "[elided 9 chars of x output]",
        "[#0002 a] Unchanged since #0001.",
    ):
        assert Hand().insert(output=output).shown == f"[#0001]\n{output}"


# what the model is told


def test_what_the_model_is_told_uses_the_texts_that_it_will_see() -> None:
    told = "\n".join([*TEXTS.prompt.lines, *TEXTS.prompt.recall])
    name, number = "#0012", "1234"
    for text in (
        TEXTS.brackets.result.format(id=name),
        TEXTS.stubs.gone.format(id=name),
        TEXTS.stubs.same.format(id=name).rstrip("."),
        TEXTS.stubs.empty.format(id=name).rstrip("."),
        TEXTS.cap.elided.format(lines=number, id="#0020"),
        loop().marker.elided.partition("{")[0],
        loop().recall.tools[0],
    ):
        assert text in told
