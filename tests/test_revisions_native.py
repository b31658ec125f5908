"""Revisions of rich requests: every run, against the types of SDKs and what providers refuse."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from google.genai import types as google

from compactor.core.errors import InternalError
from compactor.core.model import Entry, Kind, Part, PartKind
from compactor.formats import lens
from compactor.formats.raw.native import apply_edits, read_document
from tests import revision_kit as kit
from tests.bug_files import BUGS, module
from tests.revision_cases import CASES

each_format = pytest.mark.parametrize("name", CASES)


@each_format
def test_the_requests_are_valid_and_say_something_of_every_kind(name: str) -> None:
    body = CASES[name].body()
    CASES[name].check(body)
    reading = lens(name).read(body)
    assert [finding.code for finding in reading.findings] == []
    assert lens(name).recognises(body)


@each_format
def test_any_run_of_sections_leaves_a_request_that_the_provider_takes(name: str) -> None:
    case, body = CASES[name], CASES[name].body()
    entries = lens(name).read(body).entries
    before = copy.deepcopy(body)
    for runs in kit.whole_runs(entries):
        changes = kit.edits(name, body, runs)
        shown = apply_edits(body, changes)
        case.check(shown)
        again = lens(name).read(shown)
        assert kit.facts(name, again.entries) == kit.expected(name, entries, runs)
        assert again.findings == []
        assert kit.spliced(body, changes) == shown
    assert body == before


@each_format
def test_every_text_part_is_rewritten_at_its_own_place(name: str) -> None:
    case, body = CASES[name], CASES[name].body()
    reviser: Any = lens(name)
    entries = reviser.read(body).entries
    count = 0
    for seq, entry in enumerate(entries):
        for part, one in enumerate(entry.parts):
            if one.kind is not PartKind.TEXT or entry.kind not in (Kind.USER, Kind.ASSISTANT):
                continue
            count += 1
            shown = apply_edits(body, reviser.rewrite_text(body, entry, part, "new words"))
            case.check(shown)
            parts = reviser.read(shown).entries[seq].parts
            assert [p.text for p in parts] == [
                "new words" if at == part else p.text for at, p in enumerate(entry.parts)
            ]
            assert kit.untouched(body, shown) == len(case.items) - 1
    assert count >= 4


def run_over(name: str, native: Any, *spans: tuple[int, int]) -> Any:
    return kit.shown(name, native, [kit.run(*span) for span in spans])


def gone(first: int, end: int) -> str:
    return kit.run(first, end).text


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


B70: list[Any] = [
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    {"role": "assistant", "content": [said("Listed.")]},
    {"role": "user", "content": "second"},
    {"role": "assistant", "content": "two"},
    {"role": "user", "content": "third"},
]


def test_a_text_joins_the_messages_beside_it_as_a_block_of_its_own() -> None:
    assert run_over("anthropic", B70, (1, 3)) == [
        {"role": "user", "content": [said("first"), said(gone(1, 3))]},
        *B70[3:],
    ]
    assert run_over("anthropic", B70, (3, 4)) == [
        *B70[:2],
        {"role": "user", "content": [*B70[2]["content"], said(gone(3, 4)), said("second")]},
        *B70[5:],
    ]
    assert run_over("anthropic", B70, (1, 3), (3, 4), (5, 6)) == [
        {
            "role": "user",
            "content": [
                *(said("first"), said(gone(1, 3)), said(gone(3, 4)), said("second")),
                *(said(gone(5, 6)), said("third")),
            ],
        },
    ]


def test_a_text_that_stands_between_turns_is_a_message_of_its_own() -> None:
    assert run_over("anthropic", B70, (0, 1)) == [
        {"role": "user", "content": gone(0, 1)},
        *B70[1:],
    ]
    assert run_over("anthropic", B70, (0, 5)) == [
        {"role": "user", "content": gone(0, 5)},
        *B70[5:],
    ]
    assert run_over("anthropic", B70, (0, 7)) == [{"role": "user", "content": gone(0, 7)}]


def test_a_system_message_stays_behind_the_user() -> None:
    system = {"role": "system", "content": "care"}
    talk = [B70[0], system, *B70[1:3], *B70[5:]]
    assert run_over("anthropic", talk, (2, 4)) == [
        {"role": "user", "content": [said("first"), said(gone(2, 4))]},
        system,
        *B70[5:],
    ]
    assert run_over("anthropic", talk, (0, 1), (2, 5)) == [
        {"role": "user", "content": [said(gone(0, 1)), said(gone(2, 5)), said("third")]},
        system,
    ]


def test_repeats_that_were_there_are_left() -> None:
    talk = [B70[0], {"role": "user", "content": "and"}, *B70[1:]]
    assert run_over("anthropic", talk, (2, 4)) == [
        B70[0],
        {"role": "user", "content": [said("and"), said(gone(2, 4))]},
        *B70[3:],
    ]
    last = {"role": "user", "content": [said("second"), said(gone(6, 7)), said("third")]}
    assert run_over("anthropic", talk, (6, 7)) == [*talk[:5], last]


def mixed(*content: Any) -> list[Any]:
    return [*B70[:2], {"role": "user", "content": list(content)}, *B70[3:]]


RESULT = B70[2]["content"][0]


def test_a_run_takes_only_its_own_blocks_of_a_message() -> None:
    talk = mixed(RESULT, said("same"), {"type": "image", "source": {"type": "url", "url": "u"}})
    tail = talk[2]["content"][1:]
    assert run_over("anthropic", talk, (3, 4))[2]["content"] == [RESULT, said(gone(3, 4))]
    assert run_over("anthropic", talk, (1, 3)) == [
        {"role": "user", "content": [said("first"), said(gone(1, 3)), *tail]},
        *talk[3:],
    ]
    assert run_over("anthropic", talk, (0, 3)) == [
        {"role": "user", "content": [said(gone(0, 3)), *tail]},
        *talk[3:],
    ]
    assert run_over("anthropic", talk, (3, 5)) == [
        *talk[:2],
        {"role": "user", "content": [RESULT, said(gone(3, 5)), said("second")]},
        *talk[5:],
    ]
    assert run_over("anthropic", talk, (0, 3), (3, 4)) == [
        {"role": "user", "content": [said(gone(0, 3)), said(gone(3, 4))]},
        *talk[3:],
    ]


def test_of_equal_texts_around_a_result_the_right_one_goes() -> None:
    talk = mixed(said("same"), RESULT, said("same"))
    assert run_over("anthropic", talk, (2, 3))[2]["content"] == [
        *(said(gone(2, 3)), RESULT, said("same"))
    ]
    assert run_over("anthropic", talk, (4, 5))[2]["content"] == [
        *(said("same"), RESULT, said(gone(4, 5)))
    ]


def test_a_text_of_the_user_behind_another_run_of_his_is_found() -> None:
    talk = mixed(said("one"), RESULT, said("two"), said("three"))
    reviser: Any = lens("anthropic")
    entry = reviser.read(talk).entries[4]
    shown = apply_edits(talk, reviser.rewrite_text(talk, entry, 1, "new"))
    assert shown[2]["content"] == [said("one"), RESULT, said("two"), said("new")]


def test_what_stays_of_a_message_keeps_its_bytes_in_a_file() -> None:
    source = (
        b'[{"role": "user",  "content" : [ {"type":"text", "text": "\\u0061"} ]}, %s]'
        % b", ".join(
            [
                b'{"role": "assistant", "content": "gone"}',
                b'{"role": "user", "content": "on"}',
            ]
        )
    )
    document = read_document(source, "request")
    runs = [kit.run(1, 2)]
    reviser: Any = lens("anthropic")
    changes = reviser.replace_runs(document.root, reviser.read(document.root).entries, runs)
    assert document.edited(changes) == (
        b'[{"role": "user",  "content" : [ {"type":"text", "text": "\\u0061"},'
        b'{"type":"text","text":"[sections 1 to 2 are gone]"},{"type":"text","text":"on"} ]}]'
    )


def test_a_turn_of_several_items_goes_with_its_reasoning_and_hosted_calls() -> None:
    items = CASES["openai-responses"].items
    shown = run_over("openai-responses", items, (1, 4))
    assert shown == [*items[:2], {"role": "user", "content": gone(1, 4)}, *items[8:]]
    shown = run_over("openai-responses", items, (4, 5))
    assert shown == [*items[:8], {"role": "user", "content": gone(4, 5)}, *items[11:]]


def test_an_input_that_is_a_text_stays_one() -> None:
    body = {"model": "m", "input": "go"}
    assert run_over("openai-responses", body, (0, 1)) == {"model": "m", "input": gone(0, 1)}
    reviser: Any = lens("openai-responses")
    entry = reviser.read(body).entries[0]
    edits = reviser.rewrite_text(body, entry, 0, "new")
    assert apply_edits(body, edits) == {"model": "m", "input": "new"}


def test_gemini_objects_stay_objects_and_what_comes_in_is_one() -> None:
    contents = [google.Content.model_validate(item) for item in CASES["gemini"].items]
    entries = lens("gemini").read(contents).entries
    for runs in kit.whole_runs(entries):
        shown = kit.shown("gemini", contents, runs)
        assert {type(content) for content in shown} == {google.Content}
        assert {type(part) for content in shown for part in content.parts} == {google.Part}
        dumped = [content.model_dump(exclude_none=True, mode="json") for content in shown]
        plain = kit.shown("gemini", CASES["gemini"].items, runs)
        objects = [google.Content.model_validate(content) for content in plain]
        assert dumped == [c.model_dump(exclude_none=True, mode="json") for c in objects]


def test_a_run_that_is_not_in_the_request_is_our_own_fault() -> None:
    stale = [Entry(kind=Kind.USER, at=(4,)), Entry(kind=Kind.USER, at=(2,))]
    reviser: Any = lens("anthropic")
    with pytest.raises(InternalError, match="nothing of this request"):
        reviser.replace_runs(B70, stale, [kit.run(0, 1)])
    entry = reviser.read(B70).entries[5]
    longer = msgspec.structs.replace(entry, parts=(*entry.parts, Part(PartKind.TEXT, "x")))
    with pytest.raises(InternalError, match="no text of the request"):
        reviser.rewrite_text(B70, longer, 1, "y")


def test_a_text_that_stands_already_needs_no_edit() -> None:
    reviser: Any = lens("anthropic")
    entry = reviser.read(B70).entries[3]
    assert reviser.rewrite_text(B70, entry, 0, "Listed.") == []


SHARED = ("B08", "B13", "B70") if BUGS.is_dir() else ()


@pytest.mark.parametrize("name", SHARED)
def test_requests_of_public_reports_stay_well_formed(name: str) -> None:
    oracle = module("oracle")
    body = json.loads((BUGS / f"{name}.json").read_text())
    entries = lens("anthropic").read(body).entries
    assert oracle.anthropic(body["messages"]) == []
    for runs in kit.whole_runs(entries):
        shown = kit.shown("anthropic", body, runs)
        assert oracle.anthropic(shown["messages"]) == []
        again = lens("anthropic").read(shown).entries
        assert kit.facts("anthropic", again) == kit.expected("anthropic", entries, runs)


ORACLES = {
    "openai-chat": "openai_chat",
    "openai-responses": "responses",
    "gemini": "gemini",
    "anthropic": "anthropic",
}


@pytest.mark.parametrize("name", ORACLES if SHARED else ())
def test_rich_requests_stay_well_formed_to_the_checks_of_those_reports(name: str) -> None:
    check = getattr(module("oracle"), ORACLES[name])
    case = CASES[name]
    body = {**case.body(), case.key: [m for m in case.items if m.get("role") != "system"]}
    assert check(body[case.key]) == []
    for runs in kit.whole_runs(lens(name).read(body).entries):
        assert check(kit.shown(name, body, runs)[case.key]) == []
