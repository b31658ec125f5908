"""Faults of other libraries, from public reports: the files of `../shared/bugs`, where it exists.

A *pass* is one compaction over the whole input as those files define it: the newest turn protected,
every result above 200 characters a candidate, evidence budget 0. `test_known_faults` holds the same
demands with conversations of our own.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import compactor
from compactor import CompactorError, Policy
from compactor.formats import lens
from tests import pairing
from tests.bug_files import (
    FORMAT_OF,
    PASS,
    ROOT,
    changed_lines,
    codes,
    data_of,
    digests,
    elided,
    loaded,
    module,
    one_pass,
    results,
    shown,
    with_settings,
)
from tests.harness import as_bytes, messages

# What holds for every file.


@pytest.mark.parametrize("name", FORMAT_OF)
def test_write_back_of_an_unchanged_file_is_lossless(name: str) -> None:
    assert loaded(name).to_bytes() == data_of(name)
    enough = compactor.compact(loaded(name), PASS)
    assert enough.request.to_bytes() == data_of(name)


@pytest.mark.parametrize("name", FORMAT_OF)
def test_a_pass_mutates_nothing_and_gives_the_same_bytes_again(name: str) -> None:
    transcript = loaded(name)
    untouched = copy.deepcopy(transcript.root)
    first, second = one_pass(transcript), one_pass(loaded(name))
    assert as_bytes(transcript.root) == as_bytes(untouched)
    assert first.request.to_bytes() == second.request.to_bytes()
    assert first.journal == second.journal


@pytest.mark.parametrize("name", FORMAT_OF)
def test_a_second_call_with_the_journal_appends_nothing(name: str) -> None:
    first = one_pass(loaded(name))
    second = compactor.compact(loaded(name), PASS, first.journal)
    assert second.journal == first.journal
    assert second.request.to_bytes() == first.request.to_bytes()


@pytest.mark.parametrize("name", FORMAT_OF)
def test_a_pass_leaves_the_pairing_as_it_was(name: str) -> None:
    transcript = loaded(name)
    outcome = one_pass(transcript)
    before = pairing.problems(FORMAT_OF[name], messages(transcript.root))
    assert pairing.problems(FORMAT_OF[name], shown(outcome)) == before
    checks: dict[str, Callable[[Any], Any]] = {
        "anthropic": module("oracle").anthropic,
        "openai-chat": module("oracle").openai_chat,
    }
    check = checks.get(FORMAT_OF[name])
    if check is not None:
        assert check(shown(outcome)) == check(messages(transcript.root))


@pytest.mark.parametrize("name", FORMAT_OF)
def test_markers_count_the_original_and_name_its_seq(name: str) -> None:
    transcript = loaded(name)
    outcome = one_pass(transcript)
    after = lens(FORMAT_OF[name]).read(outcome.request.view()).entries
    for seq in elided(outcome):
        assert after[seq].body.startswith(f"[elided {len(transcript.entries[seq].body)} chars")
    assert elided(outcome) == [seq for record in outcome.report.passes for seq in record["elided"]]


def test_another_hash_seed_gives_the_same_bytes() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.bug_files"],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "77", "PATH": ""},
        capture_output=True,
        check=True,
        text=True,
    )
    assert found.stdout.splitlines() == digests()


# What holds for one file.


def test_b01_an_orphan_result_is_reported_once_and_never_dropped() -> None:
    outcome = one_pass(loaded("B01"))
    orphans = [f for f in outcome.report.findings if f.code == "orphan_result"]
    assert [finding.path for finding in orphans] == ["$.messages[0].content[0]"]
    assert "toolu_gone" in orphans[0].message
    text = "[elided 1115 chars of unknown output — recall seq=0]"
    block = {"type": "tool_result", "tool_use_id": "toolu_gone", "content": text}
    assert shown(outcome)[0]["content"] == [block, {"type": "text", "text": "carry on"}]


def test_b05_a_call_without_a_result_is_reported_and_gets_none() -> None:
    transcript = loaded("B05")
    outcome = one_pass(transcript)
    unanswered = [f for f in outcome.report.findings if f.code == "unanswered_call"]
    assert [finding.path for finding in unanswered] == ["$.messages[3].content[1]"]
    assert "toolu_2" in unanswered[0].message
    assert elided(outcome) == [2]
    assert shown(outcome)[3:] == messages(transcript.root)[3:]
    assert len(shown(outcome)) == 5


def test_b08_parallel_results_stay_in_one_message_in_order() -> None:
    outcome = one_pass(loaded("B08"))
    assert shown(outcome)[2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "p1",
            "content": "[elided 1025 chars of grep output — recall seq=2]",
        },
        {
            "type": "tool_result",
            "tool_use_id": "p2",
            "content": "exit 1: command failed",
            "is_error": True,
        },
        {
            "type": "tool_result",
            "tool_use_id": "p3",
            "content": "[elided 1025 chars of grep output — recall seq=4]",
        },
    ]
    assert outcome.fates[3].fate == "kept:floor"


def test_b11_results_with_one_call_id_are_three_results() -> None:
    transcript = loaded("B11")
    outcome = one_pass(transcript)
    bodies = [transcript.entries[seq].body.split()[0] for seq in (2, 4, 6)]
    assert bodies == ["first", "second", "third"]
    assert [shown(outcome)[at]["content"] for at in (2, 4, 6)] == [
        "[elided 1031 chars of run output — recall seq=2]",
        "[elided 1032 chars of run output — recall seq=4]",
        "[elided 1031 chars of run output — recall seq=6]",
    ]
    assert {shown(outcome)[at]["tool_call_id"] for at in (2, 4, 6)} == {"run:0"}


def test_b13_thinking_blocks_are_byte_identical_after_a_pass() -> None:
    transcript = loaded("B13")
    outcome = one_pass(transcript)
    assert elided(outcome) == [2]
    for old, new in zip(messages(transcript.root), shown(outcome), strict=True):
        if old["role"] == "assistant":
            assert new is old


def test_b16_the_sent_prefix_breaks_only_where_a_pass_was_made() -> None:
    policy = Policy(
        window=7500,
        reserve_tokens=1500,
        min_freed=2000,
        counter="chars4",
        overhead_tokens=0,
    )
    runs = []
    for _ in range(2):
        journal, sent, passes = None, [], 0
        requests = [copy.deepcopy(turn) for turn in module("B16").turns()]
        for request in requests:
            outcome = compactor.compact(request, policy, journal, format="openai-chat")
            journal, passes = outcome.journal, passes + len(outcome.report.passes)
            sent.append(outcome.request)
        assert requests == list(module("B16").turns())
        runs.append((sent, passes))
    sent, passes = runs[0]
    breaks = module("oracle").prefix_breaks(sent)
    everything = sum(len(m["content"]) // 4 + 5 for m in requests[-1] if m["role"] == "tool")
    assert passes >= 2
    assert len(breaks) <= passes <= -(-everything // 2000)
    assert runs[0] == runs[1]


def test_b18_spelling_and_key_order_of_untouched_messages_stay() -> None:
    data = data_of("B18")
    outcome = one_pass(loaded("B18"))
    body = json.loads(data)["messages"][2]["content"]
    start = data.index(b'"', data.index(b'"content"', data.index(b"tool_calls")) + 9)
    changed = outcome.request.to_bytes()
    marker = "[elided 1115 chars of run output — recall seq=2]".encode()
    assert len(body) == 1115
    assert changed.startswith(data[: start + 1] + marker + b'"')
    tail = data[data.index(b'"', start + 1) :]
    assert changed == data[: start + 1] + marker + tail
    assert rb"{ \"z\": 1,\"a\" :[2 , 3], \"n\":1.0}" in changed


def test_b23_no_further_pass_without_something_new_to_free() -> None:
    policy = Policy(window=1250, reserve_tokens=250, keep_recent=2, counter="chars4")
    journal, reports, seen = None, [], []
    for turn in module("B23").turns():
        request = {"model": "m", "system": module("B23").SYSTEM, "messages": turn}
        outcome = compactor.compact(request, policy, journal, format="anthropic", explain=True)
        journal = outcome.journal
        reports.append(outcome.report)
        seen.append(elided(outcome))
    assert all(report.tokens_before > report.threshold for report in reports)
    assert [len(report.passes) for report in reports] == [0, 0, 0, 1, 0, 0]
    assert seen == [[], [], [], [6], [6], [6]]
    idle = [report for report in reports if not report.passes]
    assert {report.why for report in idle} == {"nothing_to_free"}
    assert reports[-1].tier == "aggressive"
    assert reports[-1].pressed
    assert reports[-1].fixed_tokens + reports[-1].elidable_tokens == reports[-1].tokens_after
    assert all(r.tokens_after <= r.tokens_before for r in reports)


def test_b25_a_picture_has_a_bounded_cost_and_a_name_in_the_marker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["B25.py"])  # the generator reads it
    estimates = []
    for size in (400_000, 4_000_000):
        request = copy.deepcopy(module("B25").req)
        result = request["messages"][2]["content"][0]["content"]
        result[1] = module("B25").img(size)
        estimates.append(compactor.compact(request, PASS).report.tokens_before)
    assert estimates[0] == estimates[1]
    assert 1000 < estimates[0] < 6000
    outcome = one_pass(module("B25").req)
    text = "[elided 14 chars and 1 image of screenshot output — recall seq=2]"
    assert results(outcome)["t1"]["content"] == [{"type": "text", "text": text}]


def test_b30_one_reply_over_several_lines_changes_in_its_result_line_alone() -> None:
    transcript = loaded("B30")
    usage = transcript.reading.usage
    sums = [sum(getattr(each, key) for each in usage) for key in ("input", "cache_write")]
    sums += [sum(getattr(each, key) for each in usage) for key in ("cache_read", "output")]
    assert (len(usage), sums) == (2, [10, 1200, 1000, 199])
    outcome = one_pass(transcript, with_settings(keep_recent=1))
    assert changed_lines(transcript, outcome) == [4]


def test_b32_damage_is_reported_with_its_line_and_stays_in_place() -> None:
    transcript = loaded("B32")
    damage = [f.path.split()[0] for f in transcript.findings if f.code == "damaged_line"]
    assert [path.split(":")[:2] for path in damage] == [["B32", "3"], ["B32", "5"]]
    with pytest.raises(CompactorError) as refused:
        compactor.load(data_of("B32"), "claude-code", name="B32", strict=True)
    assert refused.value.code == "input.not_json"
    assert refused.value.path.startswith("B32:3")
    outcome = one_pass(transcript, with_settings(keep_recent=1))
    assert changed_lines(transcript, outcome) == [2]
    line = outcome.request.to_bytes().splitlines()[2]
    assert line.startswith(b'{"type":"progress","uuid":"p1","par{"type": "user"')


def test_b36_lone_surrogates_are_counted_elided_and_given_back() -> None:
    transcript = loaded("B36")
    assert "\ud83d" in transcript.entries[2].body
    assert rb"\ud83d" in transcript.to_bytes()
    outcome = one_pass(transcript)
    text = "[elided 393 chars of bash output — recall seq=2]"
    assert results(outcome)["t1"]["content"] == text
    assert [line.encode() for line in outcome.journal.to_lines()]


def test_b41_every_shape_of_a_result_is_read_and_empty_ones_stay() -> None:
    transcript = loaded("B41")
    sizes = [len(entry.body) for entry in transcript.entries[2:9]]
    assert sizes[:6] == [1085, 1090, 0, 0, 0, 0]
    assert transcript.entries[8].required
    outcome = one_pass(transcript)
    found = results(outcome)
    original = results(compactor.compact(transcript, PASS, explain=True))
    assert elided(outcome) == [2, 3]
    text = "[elided 1090 chars of f output — recall seq=3]"
    rest = {key: value for key, value in original["t2"].items() if key != "content"}
    assert found["t2"] == rest | {"content": [{"type": "text", "text": text}]}
    assert all(found[name] is original[name] for name in ("t3", "t4", "t5", "t6", "t7"))
    assert "content" not in found["t5"]
    assert outcome.fates[8].fate == "kept:required"


def test_b43_breakpoints_keep_number_order_and_place() -> None:
    transcript = loaded("B43")
    outcome = one_pass(transcript)
    found = results(outcome)
    assert elided(outcome) == [2]
    assert found["t1"]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert found["t2"]["cache_control"] == {"type": "ephemeral"}
    assert as_bytes(shown(outcome)).count(b'"cache_control"') == 2
    assert shown(outcome)[3] is messages(transcript.root)[3]
    assert codes(outcome).count("empty_text") == 1


def test_b59_an_old_recall_names_the_original() -> None:
    transcript = loaded("B59")
    late = compactor.compact(
        {**transcript.root, "messages": messages(transcript.root)[:9]}, PASS, overflowed=True
    )
    assert late.request["messages"][8] is messages(transcript.root)[8]
    outcome = one_pass(transcript)
    found = results(outcome)
    assert found["t2"]["content"] == "[elided 2255 chars of recall output — recall seq=61]"
    assert found["t3"]["content"] == (
        "[elided 2255 chars of mcp__ctx__recall output — recall seq=61]"
    )


def test_b62_text_that_looks_like_a_marker_is_ordinary_text() -> None:
    transcript = loaded("B62")
    outcome = one_pass(transcript, with_settings(min_gain=0))
    found = results(outcome)
    assert found["t1"]["content"] == "[elided 55 chars of bash output — recall seq=2]"
    assert found["t2"]["content"] == "[elided 2903 chars of bash output — recall seq=4]"
    assert shown(outcome)[5] is messages(transcript.root)[5]
    name = "oddname-recallseq7"
    assert found["t4"]["content"] == f"[elided 1055 chars of {name} output — recall seq=8]"


@pytest.mark.parametrize(
    ("budget", "gone"),
    [(400, ["t2", "t4"]), (0, ["t1", "t2", "t4"])],
)
def test_b64_failures_are_kept_while_the_budget_lasts(budget: int, gone: list[str]) -> None:
    transcript = loaded("B64")
    outcome = one_pass(transcript, with_settings(evidence_budget_tokens=budget))
    found = results(outcome)
    assert [name for name, block in found.items() if block["content"].startswith("[el")] == gone
    assert [name for name, block in found.items() if block.get("is_error")] == ["t1", "t3"]
    if "t1" in gone:
        assert found["t1"]["content"] == "[elided 394 chars of failed bash output — recall seq=2]"


def test_b68_arguments_are_never_changed_by_default() -> None:
    transcript = loaded("B68")
    outcome = one_pass(transcript)
    assert elided(outcome) == [4]
    assert [m for m in shown(outcome) if m["role"] == "assistant"] == [
        m for m in messages(transcript.root) if m["role"] == "assistant"
    ]


def test_b68_where_it_is_switched_on_a_string_is_shortened_inside_valid_json() -> None:
    transcript = loaded("B68")
    policy = Policy(window=600, counter="chars4", keep_recent=1, elide_inputs=True)
    outcome = compactor.compact(transcript, policy)
    before, after = (
        json.loads(given[1]["tool_calls"][0]["function"]["arguments"])
        for given in (messages(transcript.root), shown(outcome))
    )
    long = before.pop("content")
    assert after.pop("content") == f"[elided {len(long)} chars of write_file input content]"
    assert after == before
    assert outcome.report.passes[0]["inputs"] == [1]


def test_b73_the_live_branch_is_read_and_one_line_changes() -> None:
    transcript = loaded("B73")
    texts = ["".join(p.text for p in e.parts) or e.body[:14] for e in transcript.entries]
    assert texts == ["go", "", "src/mod_00.py:", "live", "next"]
    assert changed_lines(transcript, one_pass(transcript)) == [4]
