"""`elideInputs`: long strings in the arguments of old, answered calls become markers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import Journal, Policy
from compactor.core.arguments import replaced, strings
from compactor.formats.raw.json_compact import compact_json
from compactor.testing import WRITERS, Conversation
from tests import convert_kit as kit

SHARED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"

POLICY = Policy(
    window=2000,
    counter="chars4",
    counter_scale=1000,
    overhead_tokens=0,
    keep_recent=2,
    elide_inputs=True,
    recallable=True,
)
LONG = 'a "quoted" line\\ of a file\n' * 60
FORMATS = [name for name in WRITERS if name != "claude-code"]


def written(calls: int, name: str = "write") -> Conversation:
    talk = Conversation().user("go")
    for number in range(calls):
        arguments = {"path": f"{number}.py", "mode": 420, "content": LONG, "tags": ["a", None]}
        talk.call(name, arguments, result="ok")
    return talk


def arguments_of(request: list[dict[str, Any]]) -> list[dict[str, Any]]:
    calls = (call for entry in request for call in entry.get("calls", ()))
    return [json.loads(call["arguments"]) for call in calls]


def test_a_string_becomes_a_marker_in_the_same_valid_json() -> None:
    out = compactor.compact(written(8).entries(), POLICY, explain=True)
    made = out.report.passes[0]
    first = arguments_of(out.request)[0]
    marker = f"[elided {len(LONG)} chars of write input content — recall seq=1]"
    assert first == {"path": "0.py", "mode": 420, "content": marker, "tags": ["a", None]}
    assert made["inputs"][0] == 1
    assert out.fates[1].fate == "elided:inputs"


def test_by_default_and_for_protected_evidence_and_pinned_turns_nothing_changes() -> None:
    request = written(8).entries()
    for changed in (
        {"elide_inputs": False},
        {"protected_tools": ("write",)},
        {"evidence_tools": ("write",)},
        {"pins": tuple(range(20))},
    ):
        policy = Policy(**{**_settings(POLICY), **changed})
        assert compactor.compact(request, policy).request == request


def test_the_turn_that_is_not_answered_yet_keeps_its_arguments() -> None:
    talk = written(8)
    talk.call("write", {"content": LONG}, result=None)
    assert arguments_of(compactor.compact(talk.entries(), POLICY).request)[-1]["content"] == LONG


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_carries_it_and_its_estimate_is_what_a_reading_counts(
    format_name: str,
) -> None:
    journal, texts = None, None
    whole = Policy(window=10**9, counter="chars4", counter_scale=1000, overhead_tokens=0)
    for calls in range(1, 10):
        request = WRITERS[format_name].write(written(calls))
        out = compactor.compact(request, POLICY, journal)
        journal = out.journal
        again = compactor.compact(request, POLICY, Journal.from_lines(texts) if texts else None)
        texts = again.journal.to_lines()
        assert out.request == again.request == compactor.compact(request, POLICY).request
        assert compactor.compact(out.request, whole).report.tokens_before == out.report.tokens_after
        stored_back = compactor.compact(out.request, POLICY, Journal.from_lines(texts))
        assert stored_back.request == out.request
        assert compactor.render(request, out.journal) == out.request
    assert any(record for record in texts if '"inputs"' in record)


REQUESTS = ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock")


def check_taken(transcript: compactor.Transcript, target: str, policy: Policy) -> int:
    """The request with strings elided is what the provider takes; the number of turns elided."""
    given = compactor.convert(transcript, target, complete=True)
    out = compactor.compact(given.native, policy, format=target)
    made = msgspec.structs.replace(given, native=out.request)
    kit.check_types(made)
    assert kit.problems(made) == kit.problems(given)
    calls, now = (
        kit.calls_of(target, each[kit.LISTS[target]]) for each in (given.native, out.request)
    )
    for (call, name, before), (call_now, name_now, after) in zip(calls, now, strict=True):
        assert (call, name, type(before)) == (call_now, name_now, type(after))
        if before != after:
            kept, shown = (json.loads(v) if isinstance(v, str) else v for v in (before, after))
            assert list(kept) == list(shown)
    return sum(len(made.get("inputs", ())) for made in out.report.passes)


@pytest.mark.parametrize("target", REQUESTS)
def test_what_is_sent_is_what_the_providers_types_take(target: str) -> None:
    transcript = compactor.load(written(8).entries(), "entries")
    assert check_taken(transcript, target, POLICY) > 4


if SHARED.is_dir():

    @pytest.mark.parametrize("target", REQUESTS)
    def test_so_it_is_with_real_sessions(target: str) -> None:
        elided = 0
        for name in ("opencode/nimbus-security.json", "pi/authgo-security-review.jsonl",
                     "claude-code/agentv-short.jsonl", "swe-agent/marsh-fc.traj"):  # fmt: skip
            policy = Policy(window=15_000, counter="chars4", elide_inputs=True, recallable=True)
            elided += check_taken(compactor.load(SHARED / name), target, policy)
        assert elided > 20


def _settings(policy: Policy) -> dict[str, Any]:
    return msgspec.structs.asdict(policy)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), st.data())
def test_strings_are_found_and_replaced_where_a_parser_has_them(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = compact_json(value)
    found = strings(text, 0)
    assert [one.text for one in found] == list(_texts(value))
    chosen = [one for one in found if data.draw(st.booleans())]
    new = replaced(text, {one.path: f'<"{one.text[:3]}\\">' for one in chosen if _plain(one.text)})
    for one in chosen:
        if _plain(one.text):
            _put(value, one.path, f'<"{one.text[:3]}\\">')
    assert json.loads(new) == value


def _plain(text: str) -> bool:
    return all(char >= " " for char in text[:3])


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(inner)


def _put(value: Any, path: tuple[str | int, ...], text: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = text


@pytest.mark.parametrize(
    "arguments",
    ["", "[]", '"text"', '{"a": ', '{"a":"x","a":"y"}', '{"a":' + "[" * 200 + "]" * 200 + "}"],
)
def test_what_is_no_plain_object_has_no_strings_to_elide(arguments: str) -> None:
    assert strings(arguments, 0) == []
