"""Runs of entries as texts of the user, in every format of requests: what must hold of any."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from compactor.core.model import Entry, Kind, PartKind, entry_digest
from compactor.formats import lens
from compactor.formats.lens import Revisions
from compactor.formats.raw.native import apply_edits
from tests import revision_kit as kit
from tests.strategies import conversations

each_format = pytest.mark.parametrize("name", kit.FORMATS)


def drawn(name: str, data: st.DataObject) -> tuple[Any, list[Entry], Any]:
    native = data.draw(conversations((name,))).write(name)
    entries = lens(name).read(native).entries
    return native, entries, data.draw(kit.runs_of(entries))


@each_format
@given(st.data())
def test_runs_are_read_again_as_their_texts_and_all_else_as_it_was(
    name: str, data: st.DataObject
) -> None:
    native, entries, runs = drawn(name, data)
    shown = kit.shown(name, native, runs)
    event(f"{len(runs)} runs")
    again = lens(name).read(shown).entries
    assert kit.facts(name, again) == kit.expected(name, entries, runs)
    texts = [part.text for entry in again for part in entry.parts if entry.kind is Kind.USER]
    assert [text for text in texts if text in {run.text for run in runs}] == [r.text for r in runs]


@each_format
@given(st.data())
def test_a_request_is_as_valid_as_it_was(name: str, data: st.DataObject) -> None:
    native, _, runs = drawn(name, data)
    assert kit.new_problems(name, native, kit.shown(name, native, runs)) == []


@each_format
@given(st.data())
def test_messages_that_no_run_touches_are_the_same_objects(name: str, data: st.DataObject) -> None:
    native, entries, runs = drawn(name, data)
    before = copy.deepcopy(native)
    shown = kit.shown(name, native, runs)
    assert native == before
    items = kit.messages_of(native)
    base = len(items) and len(lens(name).read(native).entries[0].at) - 1
    inside = {seq for run in runs for seq in range(run.first - 1, run.end + 1)}
    beside = {entry.at[base] for seq, entry in enumerate(entries) if seq in inside}
    free = [index for index in range(len(items)) if index not in beside]
    assert kit.untouched(native, shown) >= len([i for i in free if _is_first_of(i, entries, base)])


def _is_first_of(index: int, entries: list[Entry], base: int) -> bool:
    """Whether an entry begins with a message: turns of several messages have one address."""
    return any(entry.at[base] == index for entry in entries)


@each_format
@given(st.data())
def test_edits_mean_the_same_in_objects_and_in_text(name: str, data: st.DataObject) -> None:
    native, _, runs = drawn(name, data)
    changes = kit.edits(name, native, runs)
    assert kit.spliced(native, changes) == apply_edits(native, changes)


@each_format
@given(st.data())
def test_bodies_rewritten_beside_runs_are_shown_in_one_set_of_edits(
    name: str, data: st.DataObject
) -> None:
    native, entries, runs = drawn(name, data)
    hidden = {seq for run in runs for seq in range(run.first, run.end)}
    results = [
        entry
        for seq, entry in enumerate(entries)
        if entry.kind is Kind.TOOL and seq not in hidden and entry.body
    ]
    bodies = [e for entry in results for e in lens(name).rewrite_body(native, entry, "[elided]")]
    changes = [*bodies, *kit.edits(name, native, runs)]
    shown = apply_edits(native, changes)
    assert kit.spliced(native, changes) == shown
    again = [e.body for e in lens(name).read(shown).entries if e.kind is Kind.TOOL and e.body]
    assert again == ["[elided]"] * len(results)
    twice = apply_edits(apply_edits(native, bodies), kit.edits(name, native, runs))
    assert twice == shown


@each_format
@given(st.data())
def test_a_text_is_rewritten_where_it_stands_and_nothing_else(
    name: str, data: st.DataObject
) -> None:
    native = data.draw(conversations((name,))).write(name)
    reviser: Any = lens(name)
    entries = reviser.read(native).entries
    places = [
        (seq, part)
        for seq, entry in enumerate(entries)
        for part, one in enumerate(entry.parts)
        if one.kind is PartKind.TEXT and entry.kind in (Kind.ASSISTANT, Kind.USER)
    ]
    seq, part = data.draw(st.sampled_from(places))
    changes = reviser.rewrite_text(native, entries[seq], part, "rewritten")
    shown = apply_edits(native, changes)
    assert kit.spliced(native, changes) == shown
    again = reviser.read(shown).entries
    assert again[seq].parts[part].text == "rewritten"
    assert [one for at, one in enumerate(again[seq].parts) if at != part] == [
        one for at, one in enumerate(entries[seq].parts) if at != part
    ]
    assert [entry_digest(e) for e in again if e is not again[seq]] == [
        entry_digest(e) for e in entries if e is not entries[seq]
    ]
    assert kit.untouched(native, shown) == len(kit.messages_of(native)) - 1


def test_every_format_of_requests_has_revisions() -> None:
    assert all(isinstance(lens(name), Revisions) for name in kit.FORMATS)
