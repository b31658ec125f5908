"""Recordings whose prompts were made with known settings, and those of the collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import recorded_kit as kit
from claude_rows import call, prompt, result, said
from cli_kit import result as text_of
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import compactor
from compactor import counters
from compactor.calibration import Errors, conversations
from compactor.cli import cli
from compactor.core.count import Measure
from compactor.core.errors import InputError
from compactor.core.model import Usage
from compactor.formats.raw.native import Rows
from compactor.loop import loop

Json = dict[str, Any]
TURNS = 12


def rows(sizes: list[int], model: str = "m") -> list[Json]:
    """A session of a call and a result a turn; usage is filled in later."""
    found = [prompt("r0", None, "Why is the build red?")]
    for n, size in enumerate(sizes):
        found.append(call(f"a{n}", f"r{n}", f"c{n}", of=f"m{n}", model=model, usage={}))
        found.append(result(f"r{n + 1}", f"a{n}", f"c{n}", text_of(n, size)))
    found.append(said("end", f"r{len(sizes)}", "done", of="last", model=model, usage={}))
    return found


def with_usage(found: list[Json], counter: str, scale: int, overhead: int) -> list[Json]:
    """The session with the prompts that a provider would count who counts so."""
    measure = Measure(counters.get(counter), scale, loop().tokens)
    transcript = compactor.load(found, "claude-code")
    sizes = [measure.entry(entry) for entry in transcript.entries]
    turns = [row for row in found if row["type"] == "assistant"]
    for row, usage in zip(turns, transcript.usage, strict=True):
        whole = overhead + sum(sizes[: usage.n])
        row["message"]["usage"] = {
            "input_tokens": 3,
            "cache_read_input_tokens": whole // 2,
            "cache_creation_input_tokens": whole - 3 - whole // 2,
            "output_tokens": sizes[usage.n],
        }
    return found


def write(path: Path, found: list[Json]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), "utf-8")
    return path


SIZES = [411 * (n % 7 + 2) + n for n in range(TURNS)]


@given(st.integers(300, 3000), st.integers(0, 100_000), st.sampled_from(["o200k_base", "chars4"]))
def test_settings_that_made_the_prompts_of_a_recording_are_found_exactly(
    scale: int, overhead: int, counter: str
) -> None:
    found = Rows(with_usage(rows(SIZES), counter, scale, overhead))
    [fit] = compactor.calibrate(compactor.load(found), counter=counter)
    assert fit.settings() == {
        "counter": counter,
        "counter_scale": scale,
        "overhead_tokens": overhead,
    }
    assert fit.errors == Errors(0, 0, 0, 0, 0)
    assert (fit.model, fit.format, fit.conversations, fit.requests) == (
        *("m", "claude-code", 1, TURNS + 1),
    )


def test_a_policy_with_the_found_settings_estimates_what_was_recorded() -> None:
    found = with_usage(rows(SIZES), "o200k_base", 1560, 30_000)
    transcript = compactor.load(found)
    [fit] = compactor.calibrate(transcript)
    policy = compactor.Policy(window=10**6, **fit.settings())
    report = compactor.compact(transcript, policy).report
    last = transcript.usage[-1]
    whole = last.input + last.cache_read + last.cache_write
    assert report.tokens_before == whole + last.output


def test_models_are_fitted_each_for_itself_and_count_by_their_own_counter() -> None:
    old = with_usage(rows(SIZES, "claude-sonnet-4-5"), "o200k_base", 1240, 500)
    new = with_usage(rows([*SIZES, 800], "claude-sonnet-5"), "o200k_base", 1560, 900)
    fits = compactor.calibrate(compactor.load(old), compactor.load(new))
    assert [(f.model, f.counter_scale, f.overhead_tokens, f.known_scale) for f in fits] == [
        ("claude-sonnet-5", 1560, 900, 1560),
        ("claude-sonnet-4-5", 1240, 500, 1240),
    ]
    [other] = compactor.calibrate(compactor.load(new), counter="chars4")
    assert (other.counter, other.known_scale) == ("chars4", None)


def test_a_session_that_changed_its_model_tells_something_of_both() -> None:
    found = rows(SIZES, "one")
    for row in found[len(found) // 2 :]:
        if row["type"] == "assistant":
            row["message"]["model"] = "two"
    found = with_usage(found, "o200k_base", 2000, 77)
    fits = compactor.calibrate(compactor.load(found))
    assert {f.model: (f.counter_scale, f.overhead_tokens) for f in fits} == {
        "one": (2000, 77),
        "two": (2000, 77),
    }
    assert sum(fit.requests for fit in fits) == TURNS + 1


def test_results_alone_tell_the_scale_where_answers_hold_what_the_file_does_not() -> None:
    """Reasoning that is in no file makes prompts grow: it is in the scale, not in this number."""
    found = with_usage(rows([8000] * TURNS), "o200k_base", 1500, 1000)
    hidden = 0
    for row in found:
        if row["type"] == "assistant":
            usage = row["message"]["usage"]
            usage["cache_read_input_tokens"] += hidden
            usage["output_tokens"] += 900
            hidden += 900
    [fit] = compactor.calibrate(compactor.load(found))
    assert fit.counter_scale > 1700
    assert (fit.results_scale, fit.results) == (1500, TURNS)


def test_an_answer_that_was_counted_before_it_was_whole_tells_nothing_of_results() -> None:
    found = with_usage(rows([8000] * TURNS), "o200k_base", 1500, 1000)
    for row in found:
        if row["type"] == "assistant":
            row["message"]["usage"]["output_tokens"] = 2
    [fit] = compactor.calibrate(compactor.load(found))
    assert (fit.counter_scale, fit.results_scale, fit.results) == (1500, None, 0)


def prompts(transcript: compactor.Transcript) -> list[int]:
    return [u.input + u.cache_read for each in conversations(transcript) for u in each.usage]


def cleared(clear: set[int], counts: list[int]) -> compactor.Transcript:
    """A session in which results were cleared later, by the seqs of their entries."""
    transcript = compactor.load(rows([100] * (len(counts) - 1)))
    entries = [
        msgspec.structs.replace(entry, cleared=seq in clear)
        for seq, entry in enumerate(transcript.entries)
    ]
    usage = tuple(Usage(2 * n + 1, input=count, model="m") for n, count in enumerate(counts))
    reading = msgspec.structs.replace(transcript.reading, entries=entries, usage=usage)
    return compactor.Transcript(transcript.lens, transcript.root, reading)


def test_requests_over_results_that_were_cleared_later_are_left_out() -> None:
    grows = [10, 20, 30, 40, 50]
    falls = [10, 20, 30, 15, 25]
    assert prompts(cleared(set(), falls)) == falls
    assert prompts(cleared({2}, falls)) == [15, 25]
    assert prompts(cleared({4}, grows)) == [10, 20]
    assert prompts(cleared({8}, falls)) == [15, 25]


def test_sums_and_requests_without_a_prompt_are_left_out() -> None:
    transcript = compactor.load(rows([100]))
    usage = (
        Usage(1, output=5, model="m"),
        Usage(2, input=7, requests=3, model="m"),
        Usage(3, input=9),
    )
    reading = msgspec.structs.replace(transcript.reading, usage=usage, model="last")
    found = list(conversations(compactor.Transcript(transcript.lens, transcript.root, reading)))
    assert [(each.model, each.usage) for each in found] == [("last", [usage[2]])]


def test_images_part_a_session_and_what_lies_before_them_tells_the_overhead() -> None:
    found = rows([4000] * TURNS)
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    content = [{"type": "text", "text": "so"}, {"type": "image", "source": image}]
    found[10]["message"]["content"][0]["content"] = content
    found = with_usage(found, "o200k_base", 1300, 2000)
    for row in found[11:]:
        if row["type"] == "assistant":  # the provider takes it for 77 tokens
            row["message"]["usage"]["cache_read_input_tokens"] -= 5000
    [fit] = compactor.calibrate(compactor.load(found))
    assert (fit.counter_scale, fit.overhead_tokens) == (1300, 2000)


# -- recordings of the collection

GPT = [
    kit.RECORDED / name
    for name in (
        "codex/agentv-gpt55-3compact.jsonl",
        "codex/agentv-images.jsonl",
        "codex/agentv-spark-2compact.jsonl",
        "codex/sbridge-images.jsonl",
        "opencode/gatomia-gpt54.json",
        "opencode/nimbus-long-171msg.json",
        "opencode/nimbus-security.json",
        "pi/authgo-security-review.jsonl",
    )
]


@pytest.mark.parametrize("path", [p for p in GPT if p.exists()], ids=lambda path: path.stem)
def test_results_of_models_whose_tokenizer_is_ours_count_as_the_provider_counted(
    path: Path,
) -> None:
    [fit] = compactor.calibrate(path)
    assert fit.counter == "o200k_base"
    assert fit.results_scale is not None
    assert 980 <= fit.results_scale <= 1010
    assert abs(fit.errors.median) <= 70


CLAUDE = [*kit.files("claude-code"), *kit.files("pi")]


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
def test_fitted_estimates_follow_what_a_recording_counted(path: Path) -> None:
    for fit in compactor.calibrate(path):
        assert abs(fit.errors.median) <= 20
        assert fit.errors.percent_95 <= 60
        assert fit.errors.percent_5 >= -60


# -- on the command line

OFF = (
    "# estimates are off the recorded prompts by 0 to 0 per mille in 9 of 10, 0 in the middle, "
    "0 to 0 at most"
)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["calibrate", *map(str, args)])


def test_the_settings_are_printed_as_a_policy_file_as_flags_and_in_python(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", with_usage(rows(SIZES), "o200k_base", 1234, 5678))
    done = run(path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "# m, claude-code: 13 requests of 1 conversation",
        OFF,
        "# flags:  --counter o200k_base --counter-scale 1234 --overhead-tokens 5678",
        '# Python: Policy(counter="o200k_base", counter_scale=1234, overhead_tokens=5678)',
        'counter = "o200k_base"',
        "counterScale = 1234",
        "overheadTokens = 5678",
    ]
    (tmp_path / "compactor.toml").write_text(done.stdout, "utf-8")
    wanted = compactor.Policy(counter="o200k_base", counter_scale=1234, overhead_tokens=5678)
    assert compactor.Policy.load(tmp_path / "compactor.toml") == wanted
    flags = done.stdout.splitlines()[2].partition("flags:")[2].split()
    shown = CliRunner().invoke(cli, ["context", str(path), "--window", "1000000", "--json", *flags])
    numbers = json.loads(shown.stdout)
    assert (numbers["counter_scale"], numbers["categories"]["overhead"]) == (1234, 5678)


def test_json_has_all_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", with_usage(rows([8000] * 4), "o200k_base", 1234, 5678))
    assert json.loads(run(path, "--json").stdout) == {
        "models": [
            {
                "model": "m",
                "format": "claude-code",
                "counter": "o200k_base",
                "counter_scale": 1234,
                "overhead_tokens": 5678,
                "conversations": 1,
                "requests": 5,
                "pairs": 10,
                "errors": dict.fromkeys(
                    ("lowest", "percent_5", "median", "percent_95", "highest"), 0
                ),
                "known_scale": None,
                "results_scale": 1234,
                "results": 4,
            }
        ]
    }


def test_of_a_folder_one_model_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", with_usage(rows(SIZES, "one"), "o200k_base", 1100, 50))
    write(tmp_path / "b.jsonl", with_usage(rows(SIZES, "two"), "o200k_base", 1700, 60))
    (tmp_path / "c.json").write_text('{"a": 1}', "utf-8")
    both = run(tmp_path)
    assert both.stdout.count("counterScale = ") == 2
    assert both.stderr == "several models: choose one with --model for a policy file\n"
    one = run(tmp_path, "--model", "two")
    assert (one.stdout.count("counterScale = 1700"), one.stderr) == (1, "")


def test_sub_agents_are_conversations_of_their_own(tmp_path: Path) -> None:
    side = {"isSidechain": True, "agentId": "ag"}
    main = with_usage(rows(SIZES), "o200k_base", 1300, 9000)
    sub = with_usage(rows([*SIZES, 900]), "o200k_base", 1300, 4000)
    path = tmp_path / "s.jsonl"
    for row in sub:
        for key in ("uuid", "parentUuid"):
            row[key] = row[key] and f"s-{row[key]}"
        if row["type"] == "assistant":
            row["message"]["id"] = f"s-{row['message']['id']}"
    write(path, [*main, *(row | side for row in sub)])
    [of_main] = compactor.calibrate(path)
    [of_sub] = compactor.calibrate(compactor.load(path, thread="ag"))
    assert (of_main.overhead_tokens, of_sub.overhead_tokens) == (9000, 4000)
    both = json.loads(run(path, "--all-threads", "--json").stdout)["models"]
    assert [(f["counter_scale"], f["conversations"], f["requests"]) for f in both] == [
        (1300, 2, 27)
    ]
    sub_only = json.loads(run(path, "--thread", "ag", "--json").stdout)["models"]
    assert [f["overhead_tokens"] for f in sub_only] == [4000]


def test_a_named_file_that_cannot_be_read_is_refused_and_in_folders_passed_over(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a.jsonl", with_usage(rows(SIZES), "o200k_base", 1100, 50))
    bad = tmp_path / "bad.json"
    bad.write_text('{"messages": [], "previous_response_id": "r"}', "utf-8")
    done = run(tmp_path / "a.jsonl", bad)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "[input.provider_history]" in done.stderr
    done = run(tmp_path)
    assert (done.exit_code, "counterScale = 1100" in done.stdout) == (0, True)
    assert done.stderr.startswith("note: passed over: ")


@pytest.mark.parametrize("args", [[], ["--model", "other"]])
def test_nothing_to_compare_with_is_said(tmp_path: Path, args: list[str]) -> None:
    found = with_usage(rows([100]), "o200k_base", 1100, 50)
    done = run(write(tmp_path / "a.jsonl", found), *args)
    assert (done.exit_code, done.stdout) == (1, "")
    of = " of other" if args else ""
    assert f"there are not enough recorded requests{of} to compare with" in done.stderr
    assert done.stderr.endswith("[input.no_usage]\n")
    with pytest.raises(InputError):
        compactor.calibrate(tmp_path / "nothing.json")
