"""What holds of every insertion: bounds, recall, ids, stubs that do not lie (seed 000)."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactor.core import hygiene
from compactor.core.brackets import Brackets
from compactor.core.lines import cap, count_lines, lines_of, split_lines
from compactor.loop import loop
from tests.hygiene_kit import ABC, TEXTS, Hand, numbered

CAP = TEXTS.cap

pieces = st.sampled_from(
    ["a", "line", "\n", "\n", "\r\n", "\r", "\u2028", "[#0001]\n", "\ud83d", "💥"]
)
small = st.lists(pieces, max_size=12).map("".join)
runs = st.tuples(
    st.sampled_from(["x\n", "\n", "word ", "y\r\n", "z" * 99 + "\n", "💥"]),
    st.sampled_from([0, 1, 99, 100, 101, 199, 200, 201, 399, 401, 2001, 9_999, 20_001]),
).map(lambda run: run[0] * run[1])
large = st.lists(runs | small, max_size=5).map("".join)

text_block = large.map(lambda text: {"type": "text", "text": text})
blocks = st.lists(text_block | st.just({"type": "image", "source": {"data": "…"}}), max_size=4)
contents = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d"]), max_size=8).map("".join)


def shown_text(shown: Any) -> str:
    """The texts of what is shown, as a body has them."""
    if isinstance(shown, str):
        return shown
    return "\n".join(block["text"] for block in shown if block.get("text"))


@given(large)
def test_lines_put_together_are_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == lines_of(text) == lines_of(text, 0, 10**9) == text
    assert len(lines) == count_lines(text)
    assert all(line and "\n" not in line[:-1] for line in lines)


@given(large)
def test_a_cap_keeps_head_and_tail_and_counts_the_rest(text: str) -> None:
    capped = cap(text, CAP, "#0001")
    if len(text) <= CAP.max_chars and count_lines(text) <= CAP.max_lines:
        assert capped == text
        return
    lines = split_lines(text.replace("\ud83d", "\ufffd"))
    shown = split_lines(capped)
    at = next(i for i, line in enumerate(shown) if line.rstrip("\n").endswith("output #0001]"))
    head, tail = shown[:at], shown[at + 1 :]
    elided = int(shown[at].removeprefix("[").split(" ")[0])
    assert len(head) + elided + len(tail) == len(lines)
    assert tail == lines[len(lines) - len(tail) :]
    assert len(head) <= CAP.head_lines
    assert len(tail) <= CAP.tail_lines
    assert len("".join(tail)) <= CAP.tail_chars
    if len(lines[0]) > CAP.head_chars:
        assert head == [lines[0][: CAP.head_chars] + CAP.cut + "\n"]
    else:
        assert head == lines[: len(head)]
        assert len("".join(head)) <= CAP.head_chars
    capped.encode()


@given(large, st.booleans())
def test_output_is_bounded_and_comes_back_exactly(text: str, error: bool) -> None:
    inserted = Hand().insert(output=text, error=error)
    most = CAP.head_chars + CAP.tail_chars
    assert len(inserted.body) <= max(CAP.max_chars, most) + 100
    assert count_lines(inserted.body) <= max(CAP.max_lines, CAP.head_lines + CAP.tail_lines) + 2
    assert inserted.stored == text
    assert inserted.body.startswith("[#0001]")
    if len(inserted.body) == len(text) + 8:
        assert inserted.body[inserted.facts.bracket + 1 :] == text


@given(large, st.integers(1, 2500))
def test_windows_of_a_recall_put_together_are_the_text(text: str, limit: int) -> None:
    shown, offset = "", 1
    while offset <= count_lines(text):
        answer = hygiene.recall(9, "0001", text, offset, limit, TEXTS)
        assert answer.body == answer.body[: answer.bracket] + "\n" + answer.text
        assert answer.count <= TEXTS.recall.lines
        assert lines_of(text, answer.first, answer.count) == answer.text
        shown += answer.text
        offset += answer.count
        if limit < 100 and offset > 500:
            return
    assert shown == text


@given(blocks)
def test_blocks_keep_what_is_no_text_and_their_body_is_what_is_shown(given_blocks: Any) -> None:
    before = copy.deepcopy(given_blocks)
    inserted = Hand().insert(output=given_blocks)
    assert given_blocks == before
    assert inserted.shown[0] == {"type": "text", "text": "[#0001]"}
    assert [b for b in inserted.shown if b["type"] == "image"] == [
        b for b in before if b["type"] == "image"
    ]
    assert inserted.body == shown_text(inserted.shown)
    assert inserted.stored == shown_text(before)


reads = st.tuples(
    st.sampled_from(["a", "b"]), contents, st.integers(1, 9), st.integers(1, 9), st.booleans()
)


@given(st.lists(reads, max_size=12), st.sets(st.integers(1, 12)))
def test_a_stub_names_a_full_read_that_stands_and_shows_its_lines(
    asked: list[tuple[str, str, int, int, bool]], gone: set[int]
) -> None:
    hand = Hand()
    hand.known.gone = gone
    for path, content, offset, limit, error in asked:
        answer = hand.read(path, content, offset=offset, limit=limit, error=error)
        facts, number = answer.facts, answer.facts.number
        assert answer.body.startswith(f"[#{number:04x}")
        standing = [
            f
            for f in hand.known.facts.values()
            if f.kind == "read"
            and f.number not in gone
            and f.number < number
            and (f.resolved, f.sha) == (facts.resolved, facts.sha)
            and f.first <= facts.first <= facts.last <= f.last
        ]
        if facts.kind == "stub":
            assert facts.target == standing[-1].number
            assert Brackets(TEXTS).named(facts, standing[-1]) == answer.body
        elif facts.kind == "read":
            assert standing == []
        numbers = range(facts.first, facts.last + 1) if facts.total else []
        if facts.sha and facts.kind != "result":
            lines = content.splitlines()
            assert answer.stored == "\n".join(f"{n}: {lines[n - 1]}" for n in numbers)


@given(st.lists(st.tuples(st.sampled_from(["grep", "bash"]), st.integers(0, 2), contents)))
def test_a_search_is_a_stub_if_and_only_if_the_same_stands(
    calls: list[tuple[str, int, str]],
) -> None:
    hand, seen = Hand(), dict[tuple[int, str], int]()
    for tool, argument, text in calls:
        facts = hand.insert(tool, {"a": argument}, text).facts
        if tool == "bash":
            assert facts.target == 0
        else:
            assert facts.target == seen.get((argument, text), 0)
            seen.setdefault((argument, text), facts.number)


@given(st.text(max_size=40), st.booleans())
def test_no_path_forges_a_line_or_ends_its_bracket(path: str, several: bool) -> None:
    changes = [(path or "x", "old", "new")] * (2 if several else 1)
    body = Hand().edit(*changes).body
    lines = body.split("\n")
    brackets = lines[1::6] if several else lines[:1]
    assert len(lines) == (13 if several else 6)
    for bracket in brackets:
        assert bracket.endswith("]")
        assert "] " not in bracket.replace("\\] ", "")
        assert not several or not bracket.startswith(("[#0", "[#1"))
    body.encode()


@given(contents, contents, st.none() | st.just("A note."))
def test_an_edit_stores_all_that_lies_below_its_bracket(
    old: str, new: str, note: str | None
) -> None:
    inserted = Hand().edit(("a", old, new), note=note)
    assert inserted.body[inserted.facts.bracket + 1 :] == inserted.stored
    assert (note or "") in inserted.stored


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_the_order_of_keys_and_spaces_do_not_make_another_call(value: Any) -> None:
    hand = Hand()
    hand.insert("grep", json.dumps({"x": value, "y": 1}), ABC)
    turned = json.dumps({"y": 1, "x": turned_round(value)}, indent=1, ensure_ascii=False)
    assert hand.insert("grep", turned, ABC).facts.kind == "same"


def turned_round(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: turned_round(value[key]) for key in reversed(value)}
    return [turned_round(item) for item in value] if isinstance(value, list) else value


def test_ids_are_never_used_again() -> None:
    hand = Hand()
    answers = [hand.insert(output=str(n)).body.split("\n")[0] for n in range(300)]
    assert len(set(answers)) == 300
    assert answers[-1] == "[#012c]"


def test_a_window_as_ours_is_that_of_the_texts() -> None:
    assert loop().context.read.lines == loop().context.recall.lines == 2000
    assert Hand().read("a", numbered(1, 2001)).facts.last == 2000
