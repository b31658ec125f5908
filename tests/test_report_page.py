"""The page of a replay: whole, harmless, small, the same every time, and true to the replay."""

from __future__ import annotations

import base64
import hashlib
import sys
from collections import Counter

import pytest
from report_kit import (
    HOSTILE,
    POLICIES,
    Page,
    bench_of,
    hostile_talk,
    page_of,
    shown_of,
    told_of,
)

from compactor.replay.page import PAGE_BYTES_MAX, Shelf, html
from compactor.replay.page.shelf import fitted
from compactor.replay.page.tell import drawn
from compactor.replay.page.told import Text
from compactor.replay.page.words import clipped, harmless, shorter
from compactor.replay.trace import FATES_SHOWN
from compactor.testing import Conversation


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# Harmless.


def test_text_of_a_transcript_becomes_neither_markup_nor_script() -> None:
    plain = Conversation(system="s").user("u")
    for k in range(12):
        plain.call("tool", {"n": k}, result="r" * 900)
    calm, hostile = Page(page_of(plain)), Page(page_of(hostile_talk(), name=HOSTILE))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in calm.tags]
    assert hostile.scripts[1] == calm.scripts[1]
    assert hostile.open == []
    shown = [name for name in Counter(hostile.scripts[0][1]) if name in "<>&"]
    assert shown == []


def test_the_text_arrives_whole_with_what_cannot_be_seen_spelled_out() -> None:
    data = Page(page_of(hostile_talk())).data
    [told] = data["recordings"]
    assert told["texts"][0] == harmless(HOSTILE)
    assert "\\u202e\\x00\\x1b[31m\\ud800" in told["texts"][0]
    assert "</script><script>" in told["texts"][0]


def test_the_policy_of_the_page_allows_its_own_style_and_script_alone() -> None:
    page = Page(page_of(hostile_talk()))
    assert page.policy == {
        "default-src": ["'none'"],
        "script-src": [digest(page.scripts[1][1])],
        "style-src": [digest("".join(page.styles))],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    assert page.scripts[0][0] == {"type": "application/json", "id": "data"}
    linked = [value for _, each in page.tags for name, value in each.items() if name in _LOADING]
    assert set(linked) == {"#sums"}
    assert not any("style" in each for _, each in page.tags)


_LOADING = ("src", "href", "srcset", "data", "action", "formaction", "poster", "background")


def test_the_page_is_whole_html_and_says_its_language() -> None:
    text = page_of(hostile_talk())
    page = Page(text)
    assert text.startswith("<!doctype html>\n")
    assert page.tags[0] == ("html", {"lang": "en"})
    ids = [each["id"] for _, each in page.tags if "id" in each]
    assert len(ids) == len(set(ids))
    referred = [each["aria-labelledby"] for _, each in page.tags if "aria-labelledby" in each]
    assert set(referred) <= set(ids)


def test_without_script_the_sums_are_there() -> None:
    shown = shown_of(bench_of(hostile_talk()))
    cells = "|".join(Page(html([shown])).texts)
    for made in shown.replays:
        assert f"|{made.policy}|" in cells
        assert f"|{made.tokens_sent:,}|" in cells


# The same every time, and small.


def test_the_same_replays_give_the_same_bytes() -> None:
    assert page_of(hostile_talk()) == page_of(hostile_talk())


def test_what_is_on_the_shelf_does_not_depend_on_the_order_it_was_put_there() -> None:
    shown = [shown_of(bench_of(hostile_talk(turns)), str(turns)) for turns in range(2, 8)]
    found = [each.told for each in shown if each.told is not None]
    places = [(5, 0), (0, 1), (2, 0), (0, 0), (3, 0), (1, 0)]
    pairs = list(zip(places, found, strict=True))
    kept = []
    for order in (pairs, pairs[::-1], sorted(pairs, key=lambda pair: pair[0])):
        shelf = Shelf(3)
        for place, told in order:
            shelf.put(place, told)
        kept.append({place: told.name for place, told in shelf.kept.items()})
    assert kept == [{(0, 0): "5", (3, 0): "6", (1, 0): "7"}] * 3


def test_a_page_of_large_recordings_stays_under_its_limit() -> None:
    talk = Conversation(system="s").user("go")
    for k in range(300):
        talk.call(f"tool{k}", {"n": k}, result=f"{k} <&>" * 900)
    bench = bench_of(talk, window=400_000)
    shown = shown_of(bench, policies=("none", "threshold", "mask:last=3", "sliding"))
    text = html([shown] * 20 + [shown._replace(told=None)] * 200)
    assert 3_000_000 < len(text.encode()) < PAGE_BYTES_MAX
    [first, *_] = Page(text).data["recordings"]
    assert len(first["policies"][0]["series"]["request"]) <= 600
    assert first["text_chars"] < 6000


def test_a_page_that_is_too_large_shows_fewer_recordings_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = [shown_of(bench_of(hostile_talk(turns)), f"{turns} {HOSTILE}") for turns in (2, 9, 4)]
    whole = html(shown)
    monkeypatch.setattr(sys.modules[html.__module__], "PAGE_BYTES_MAX", len(whole.encode()) - 1)
    page = Page(html(shown))
    assert [told["requests"] for told in page.data["recordings"]] == [10]
    assert page.data["all"] == len(Page(whole).data["recordings"]) == 3
    monkeypatch.setattr(sys.modules[html.__module__], "PAGE_BYTES_MAX", 0)
    assert Page(html(shown)).data["recordings"] == []


def test_texts_of_small_recordings_leave_room_for_large_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = [told_of(bench_of(hostile_talk(turns)))[0] for turns in (1, 30)]
    sizes = [sum(len(text.head) for text in each.texts) for each in told]
    monkeypatch.setattr(sys.modules[fitted.__module__], "TEXT_BYTES", sum(sizes))
    small, large = fitted(told)
    assert small == told[0]
    assert 1000 < large.text_chars < told[1].text_chars


def test_a_recording_alone_has_its_texts_up_to_the_limit_of_one() -> None:
    told, _ = told_of(bench_of(hostile_talk()))
    [same] = fitted([told])
    assert same == told
    assert {len(text.head) <= 6000 for text in told.texts} == {True}


def test_long_texts_lose_their_middle_and_say_how_much() -> None:
    text = "a" * 70 + "b" * 60 + "c" * 30
    cut = clipped(text, 80)
    assert cut == Text("a" * 60, 80, "c" * 20)
    assert shorter(cut, 40) == Text("a" * 30, 120, "c" * 10)
    assert shorter(clipped(text), 80) == cut
    assert shorter(cut, 0) == Text("", 160, "")


@pytest.mark.parametrize(("count", "most"), [(1, 4), (10, 10), (1000, 40), (999, 41)])
def test_the_ends_and_the_extremes_of_requests_are_drawn(count: int, most: int) -> None:
    sizes = [(k * 7919) % 1009 for k in range(count)]
    at = drawn(sizes, most)
    assert at == sorted(set(at))
    assert {0, count - 1, sizes.index(max(sizes)), sizes.index(min(sizes))} <= {*at}
    assert len(at) <= most


# True to the replay.


def test_the_page_tells_what_the_replay_did() -> None:
    bench = bench_of(hostile_talk(30))
    told, rows = told_of(bench)
    for policy, made in zip(told.policies, rows, strict=True):
        assert made == bench.replay(made.policy)
        assert policy.series.sent == [row.tokens_sent for row in made.rows]
        assert policy.series.cost[-1] == made.cost_nano
        assert len(policy.passes) == made.passes
        changed = {each.seq: each for each in policy.changed}
        freed = sum(told.entries.tokens[seq] - each.tokens for seq, each in changed.items())
        assert freed == sum(each.freed for each in policy.passes)
        assert (
            made.rows[-1].tokens_sent == sum(told.entries.tokens) - freed + bench.recording.overhead
        )
        fates = [fate for fate, count in policy.fates for _ in range(count)]
        names = [list(FATES_SHOWN)[fate] for fate in fates]
        assert {seq for seq, name in enumerate(names) if name == "elided"} == {*changed}
        for seq, each in changed.items():
            first = next(made for made in policy.passes if seq in made.seqs)
            assert each.request == first.request
    assert rows[1].passes > 0
    assert rows[2].passes > 10


def test_what_stands_for_an_entry_is_shown_as_it_was_sent() -> None:
    told, _ = told_of(bench_of(hostile_talk(30)))
    threshold, masked = told.policies[1:]
    for policy, beginning in ((threshold, "[elided "), (masked, "Old environment output: ")):
        shown = {told.texts[each.text].head for each in policy.changed}
        assert shown != set()
        assert all(text.startswith(beginning) for text in shown)


def test_shortened_arguments_are_shown_inside_their_turn() -> None:
    talk = Conversation(system="s").user("go")
    for k in range(14):
        talk.call("write", {"path": f"f{k}", "text": "x" * 2000}, result="ok")
    told, _ = told_of(bench_of(talk), policies=("threshold:elideInputs=true",))
    [policy] = told.policies
    texts = [told.texts[each.text].head for each in policy.changed]
    assert texts != []
    assert all(text.startswith('write({"path":"f') and len(text) < 300 for text in texts)
    assert [index for index, _ in policy.fates if list(FATES_SHOWN)[index] == "elided:inputs"]


def test_policies_that_recommend_compares_are_points_once() -> None:
    told, _ = told_of(bench_of(hostile_talk()))
    names = [each.name for each in told.points]
    assert names[: len(POLICIES)] == list(POLICIES)
    assert len(names) == len(set(names)) == 9
    assert [each.asked for each in told.points] == [True] * 3 + [False] * 6
