"""Requests sorted into conversations, by what they carried."""

from __future__ import annotations

from compactor.core.model import Entry
from compactor.formats.entries import Entries
from compactor.formats.traces.chains import Chain, Chains, Kept


def entries(words: str) -> list[Entry]:
    """`u:hi a:x t:x=one`: a user, a turn with the call `x`, and its result."""
    natives = []
    for word in words.split():
        kind, _, text = word.partition(":")
        if kind == "t":
            call, _, body = text.partition("=")
            natives.append({"kind": "tool", "call": call, "text": body})
        elif kind == "a":
            calls = [{"id": text, "name": "bash", "arguments": "{}"}]
            natives.append({"kind": "assistant", "text": "", "calls": calls})
        else:
            natives.append({"kind": "user", "text": text})
    return Entries().read(natives).entries if natives else []


def sorted_by(*requests: str) -> list[tuple[int, ...]]:
    chains = Chains()
    for words in requests:
        chains.add(entries(words))
    return [chain.requests for chain in chains.chains()]


def test_a_request_that_extends_the_last_one_goes_on_with_it() -> None:
    assert sorted_by("u:a", "u:a a:x t:x=1", "u:a a:x t:x=1 u:b") == [(0, 1, 2)]


def test_a_request_that_repeats_the_last_one_goes_on_with_it() -> None:
    assert sorted_by("u:a a:x t:x=1", "u:a a:x t:x=1") == [(0, 1)]


def test_mixed_conversations_are_told_apart_and_the_largest_is_first() -> None:
    assert sorted_by("u:a", "u:b", "u:a a:x t:x=1", "u:b a:y t:y=2 u:more") == [(1, 3), (0, 2)]


def test_the_same_prompt_answered_otherwise_begins_another_conversation() -> None:
    assert sorted_by("u:a", "u:a a:x t:x=1", "u:a", "u:a a:y t:y=2 u:b") == [(2, 3), (0, 1)]


def test_the_same_prompt_asked_twice_at_once_is_sorted_by_its_answers() -> None:
    requests = ("u:a", "u:a", "u:a a:x t:x=1", "u:a a:y t:y=2", "u:a a:x t:x=1 a:z t:z=3")
    assert sorted_by(*requests) == [(0, 1, 2, 4), (3,)]


def test_who_goes_back_in_a_conversation_stays_in_it() -> None:
    first = "u:a", "u:a a:x t:x=1", "u:a a:x t:x=1 a:y t:y=2"
    assert sorted_by(*first, "u:a a:x t:x=1 u:other") == [(0, 1, 2, 3)]


def test_a_conversation_with_cleared_results_is_the_same_one() -> None:
    assert sorted_by("u:a a:x t:x=one u:b", "u:a a:x t:x=gone u:b a:y t:y=2") == [(0, 1)]


def test_what_stood_only_at_the_end_of_the_first_request_does_not_part_them() -> None:
    assert sorted_by("u:a u:note", "u:a a:x t:x=1 u:note") == [(0, 1)]


def test_examples_that_all_requests_begin_with_do_not_join_them() -> None:
    shots = "u:q1 a:s1 t:s1=1 u:q2 a:s2 t:s2=2"
    assert sorted_by(f"{shots} u:one", f"{shots} u:two", f"{shots} u:two a:x") == [(1, 2), (0,)]


def test_a_shared_preamble_does_not_join_conversations() -> None:
    assert sorted_by("u:context u:one", "u:context u:two") == [(0,), (1,)]


def test_what_a_request_says_it_goes_on_from_counts() -> None:
    chains = Chains()
    chains.add(entries("u:a"))
    chains.add(entries("u:z"))
    chains.add(entries("a:x t:x=1"), after=0)
    chains.add(entries("u:summary"), joins=2)
    assert chains.chains() == [Chain((0, 2, 3), 1), Chain((1,), 1)]


def test_kept_are_the_requests_that_the_last_one_begins_with() -> None:
    chains = Chains()
    for words in ("u:a", "u:a a:x t:x=1", "u:a a:x t:x=gone a:y t:y=2", "u:a a:x t:x=gone u:b"):
        chains.add(entries(words))
    (chain,) = chains.chains()
    assert chain == Chain((0, 1, 2, 3), 4)
    assert chains.kept(chain) == [Kept(0, 1), Kept(3, 4)]


def test_kept_of_a_request_that_goes_on_counts_from_its_beginning() -> None:
    chains = Chains()
    chains.add(entries("u:a"))
    chains.add(entries("a:x t:x=1"), after=0)
    assert chains.kept(chains.chains()[0]) == [Kept(0, 1), Kept(1, 3)]


def test_no_requests_are_no_conversation() -> None:
    assert Chains().chains() == []


def test_requests_without_entries_are_conversations_of_their_own() -> None:
    assert sorted_by("", "u:a", "") == [(1,), (0,), (2,)]
