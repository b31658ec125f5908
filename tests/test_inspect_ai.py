"""inspect_ai logs: every sample a thread, in JSON and in archives of every shape."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactor
import tests.recorded_kit as kit
from compactor import Policy, Transcript
from compactor.core.errors import InputError
from compactor.core.model import Entry, Kind, PartKind, Reading, Usage
from compactor.formats.datasets.inspect_ai import InspectAi
from compactor.formats.raw.members import Members
from compactor.formats.raw.native import Edit, apply_edits
from tests.zip_sources import ZSTD, Member, archive

LENS = InspectAi()
LOGS = [*kit.files("inspect-json"), *sorted((kit.RECORDED / "inspect-eval").glob("*.eval"))]
each_log = pytest.mark.parametrize("path", LOGS, ids=[path.name for path in LOGS])


def raw_samples(path: Path) -> list[Any]:
    """The samples of a log, read without the library."""
    if path.suffix == ".json":
        samples: list[Any] = json.loads(path.read_text("utf-8"))["samples"]
        return samples
    with zipfile.ZipFile(path) as zipped:
        names = [name for name in zipped.namelist() if name.startswith("samples/")]
        return [json.loads(zipped.read(name)) for name in names]


def raw_requests(sample: Any) -> list[Any]:
    events = sample.get("events") or sample.get("transcript", {}).get("events", [])
    return [event for event in events if event["event"] == "model"]


@each_log
def test_a_recorded_log_is_recognised_and_written_back_byte_for_byte(path: Path) -> None:
    assert compactor.detect(path) == "inspect-ai"
    transcript = compactor.load(path)
    assert transcript.to_bytes() == path.read_bytes()
    names = [f"{sample['id']}_epoch_{sample['epoch']}" for sample in raw_samples(path)]
    assert LENS.threads(transcript.root) == names
    codes = {finding.code for finding in transcript.findings}
    assert codes == ({"other_threads"} if len(names) > 1 else set())


@each_log
def test_every_sample_of_a_recorded_log_is_a_thread_with_its_messages(path: Path) -> None:
    root = compactor.load(path).root
    for name, sample in zip(LENS.threads(root), raw_samples(path), strict=True):
        lens = LENS.of_thread(name)
        reading = lens.read(root)
        assert lens.messages(root) == sample["messages"]
        said = [m for m in sample["messages"] if m["role"] != "system"]
        assert [e.kind for e in reading.entries] == [Kind(message["role"]) for message in said]
        for message, entry in zip(said, reading.entries, strict=True):
            if entry.kind is Kind.TOOL:
                error = message.get("error")
                assert entry.body == (error["message"] if error else message["content"])
                assert (entry.name, entry.error) == (message["function"], error is not None)
            else:
                assert not any("attachment://" in part.text for part in entry.parts)
        assert reading.overhead.known
        assert not any("attachment://" in text for text in reading.overhead.texts)


@each_log
def test_recorded_usage_is_that_of_the_requests_and_stands_beside_their_answers(
    path: Path,
) -> None:
    root = compactor.load(path).root
    counts = [r["output"].get("usage") for s in raw_samples(path) for r in raw_requests(s)]
    counts = [count for count in counts if count and count["total_tokens"]]
    found = LENS.all_usage(root)
    cached = [count.get("input_tokens_cache_read") or 0 for count in counts]
    assert [usage.cache_read for usage in found] == cached
    assert [u.input + u.cache_read for u in found] == [count["input_tokens"] for count in counts]
    assert [usage.output for usage in found] == [count["output_tokens"] for count in counts]
    assert all(usage.time_ms > 1_700_000_000_000 for usage in found)
    for name, sample in zip(LENS.threads(root), raw_samples(path), strict=True):
        reading = LENS.of_thread(name).read(root)
        turns = [n for n, entry in enumerate(reading.entries) if entry.kind is Kind.ASSISTANT]
        made = [r for r in raw_requests(sample) if len(r["input"]) > 1 or len(turns) == 1]
        if made and made[0]["output"].get("usage") and "scorer" not in path.name:
            assert [usage.n for usage in reading.usage] == turns[: len(reading.usage)]
            assert len(reading.usage) in (len(turns), len(turns) - 1)


@each_log
def test_every_result_of_a_recorded_log_can_be_rewritten_alone(path: Path) -> None:
    root = compactor.load(path).root
    for name in LENS.threads(root):
        lens = LENS.of_thread(name)
        reading = lens.read(root)
        for seq, entry in enumerate(reading.entries):
            if entry.kind is Kind.TOOL and not entry.empty:
                check_rewritten(lens, root, reading, seq)


def check_rewritten(lens: InspectAi, root: Any, reading: Reading, seq: int) -> None:
    edits = lens.rewrite_body(root, reading.entries[seq], "gone")
    again = lens.read(apply_edits(root, edits))
    bodies = [entry.body for entry in reading.entries]
    bodies[seq] = "gone"
    assert [entry.body for entry in again.entries] == bodies
    assert again.usage == reading.usage


@each_log
@pytest.mark.parametrize("share", kit.SHARES)
def test_recorded_logs_are_compacted_into_logs_that_read_the_same(path: Path, share: int) -> None:
    loaded = compactor.load(path)
    edits: list[Edit] = []
    for name in LENS.threads(loaded.root)[:5]:
        lens = LENS.of_thread(name)
        before = Transcript(lens, loaded.root, lens.read(loaded.root), loaded.document)
        whole = compactor.compact(before, kit.policy(10**9)).report.tokens_before
        out = compactor.compact(before, kit.policy(max(whole // share, 10)), explain=True)
        after = lens.read(compactor.load(out.request.to_bytes()).root)
        elided = {fate.seq for fate in out.fates if fate.fate == "elided"}
        for seq, (old, new) in enumerate(zip(before.entries, after.entries, strict=True)):
            is_elided = new.body.startswith(f"[elided {len(old.body)} chars")
            assert (is_elided, is_elided or new.body == old.body) == (seq in elided, True)
            assert (old.parts, old.calls, old.error) == (new.parts, new.calls, new.error)
        edits += out.request.edits
    document = loaded.document
    assert document is not None
    written = document.edited(edits)
    assert [len(s["events"]) for s in raw_of(written, path)] == [
        len(s["events"]) for s in raw_samples(path) if s.get("events")
    ]


def raw_of(data: bytes, path: Path) -> list[Any]:
    copied = path.suffix == ".json"
    root = json.loads(data) if copied else compactor.load(data).root
    samples = root["samples"] if copied else [root[n] for n in root if n.startswith("samples/")]
    return [sample for sample in samples if sample.get("events")]


if LOGS:

    def test_real_samples_have_something_to_elide() -> None:
        """So that the tests above compare something."""
        path = next(path for path in LOGS if path.name == "docent-sample.eval")
        root = compactor.load(path).root
        lenses = map(LENS.of_thread, LENS.threads(root))
        bodies = [entry.body for lens in lenses for entry in lens.read(root).entries]
        assert sum(len(body) > 400 for body in bodies) > 10


# Logs, as small as they can be.


def call(name: str, **more: Any) -> dict[str, Any]:
    arguments = {"command": name}
    return {"id": name, "function": "bash", "arguments": arguments, "type": "function", **more}


def turn(text: str, *calls: str, **more: Any) -> dict[str, Any]:
    made = [call(name) for name in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {}), **more}


def result(name: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "role": "tool",
        "content": content,
        "tool_call_id": name,
        "function": "bash",
        **more,
    }


def user(content: Any = "go") -> dict[str, Any]:
    return {"role": "user", "content": content}


def request(
    sent: list[Any], answer: Any, usage: dict[str, int] | None = None, **more: Any
) -> dict[str, Any]:
    counts = usage or {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    return {
        "event": "model",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "model": "openai/gpt-4o",
        "input": sent,
        "tools": [
            {"name": "bash", "description": "attachment://d", "parameters": {"type": "object"}}
        ],
        "output": {"model": "gpt-4o-x", "choices": [{"message": answer}], "usage": counts},
        **more,
    }


TALK = [
    {"role": "system", "content": "be good"},
    user(),
    turn("look", "x", "y"),
    result("x", "one"),
    result("y", "two"),
    turn("done"),
]


def sample(messages: list[Any], events: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "messages": messages, "events": events or [], **more}


def log(*samples: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [*samples]}


def read(*samples: Any, thread: str = "") -> Reading:
    return InspectAi(thread).read(log(*samples))


def bodies(reading: Reading) -> list[str]:
    return [entry.body for entry in reading.entries if entry.kind is Kind.TOOL]


def codes(reading: Reading) -> list[str]:
    return [finding.code for finding in reading.findings]


def chunked(messages: list[Any], events: list[Any], attachments: list[str]) -> list[Member]:
    """A sample in the folder shape, two items a chunk."""
    at = "samples/1_epoch_1"
    shell = {"id": 1, "epoch": 1, "message_refs": [[0, len(messages)]]}
    made = [Member(f"{at}/sample.json", json.dumps(shell).encode())]
    for kind, items in (("messages", messages), ("events", events), ("attachments", attachments)):
        starts = range(0, len(items), 2)
        made += [
            Member(f"{at}/{kind}/{n}.json", json.dumps(items[n : n + 2]).encode()) for n in starts
        ]
    return [*made, Member(f"{at}/events/stats.json", b"{}")]


HEADER = Member("header.json", b'{"version":2,"eval":{"task":"t"}}')


def whole(messages: list[Any], events: list[Any], attachments: list[str]) -> list[Member]:
    texts = {str(index): text for index, text in enumerate(attachments)}
    body = json.dumps(sample(messages, events, attachments=texts)).encode()
    return [Member("samples/1_epoch_1.json", body, ZSTD)]


def plain(messages: list[Any], events: list[Any], attachments: list[str]) -> bytes:
    texts = {str(index): text for index, text in enumerate(attachments)}
    return json.dumps(log(sample(messages, events, attachments=texts))).encode()


Make = Callable[[list[Any], list[Any], list[str]], bytes]
SHAPES: dict[str, Make] = {
    "json": plain,
    "archive": lambda *parts: archive([HEADER, *whole(*parts)]),
    "journal": lambda *parts: archive(
        [*whole(*parts), HEADER._replace(name="_journal/start.json")]
    ),
    "chunked": lambda *parts: archive([HEADER, *reversed(chunked(*parts))]),
}
each_shape = pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)


@each_shape
def test_the_same_conversation_is_the_same_in_every_shape(make: Make) -> None:
    data = make(TALK, [request(TALK[:2], TALK[2]), request(TALK[:5], TALK[5])], [])
    transcript = compactor.load(data)
    assert (transcript.format, transcript.to_bytes()) == ("inspect-ai", data)
    kit.check_same(transcript.reading)
    assert LENS.threads(transcript.root) == ["1_epoch_1"]
    assert LENS.messages(transcript.root) == TALK
    assert [usage.n for usage in transcript.reading.usage] == [1, 4]
    assert transcript.reading.overhead.texts == (
        *("be good", "bash", "attachment://d", '{"type":"object"}'),
    )


@each_shape
def test_attachments_are_read_and_references_to_them_rewritten(make: Make) -> None:
    long, shared = "long " * 50, "shared " * 50
    said = [*TALK[:3], result("x", "attachment://0"), result("y", [text("attachment://1")])]
    events = [request([user("attachment://1")], said[2])]
    data = make([*said, turn("done")], events, [long, shared])
    transcript = compactor.load(data)
    assert bodies(transcript.reading) == [long, shared]
    edits = [
        edit
        for entry in kit.tools(transcript.reading)
        for edit in LENS.rewrite_body(transcript.root, entry, f"no {entry.call_id}")
    ]
    written = transcript.with_edits(edits).to_bytes()
    again = compactor.load(written)
    assert bodies(again.reading) == ["no x", "no y"]
    assert [message["content"] for message in LENS.messages(again.root)[3:5]] == [
        "no x",
        [text("no y")],
    ]
    unpacked = raw_text(again.root)
    assert (unpacked.count(long), unpacked.count(shared)) == (1, 1)
    assert unpacked.count("attachment://1") == 1


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def raw_text(root: Any) -> str:
    return json.dumps(dict(root))


def test_the_old_protocol_and_place_of_attachments_and_events_are_known() -> None:
    one = {
        "id": 1,
        "epoch": 1,
        "messages": [*TALK[:3], result("x", "tc://a"), TALK[4], TALK[5]],
        "transcript": {"events": [request(TALK[:2], TALK[2])], "content": {"a": "one"}},
    }
    reading = read(one)
    kit.check_same(reading)
    assert [usage.n for usage in reading.usage] == [1]


@pytest.mark.parametrize("pool", [{"message_pool": TALK}, {"events_data": {"messages": TALK}}])
def test_inputs_may_be_ranges_of_a_pool(pool: dict[str, Any]) -> None:
    """A sample without messages has those of its last request, and its answer."""
    events = [
        request([], TALK[2], input_refs=[[0, 2]]),
        request([], TALK[5], input_refs=[[0, 1], [1, 5], [9, 12], ["x"], [2, None]]),
    ]
    reading = read(sample([], events, **pool))
    kit.check_same(reading)
    assert [usage.n for usage in reading.usage] == [1, 4]
    base = (
        "samples",
        0,
        *(key for key in ("events_data", "messages", "message_pool") if key in pool),
    )
    at = (*base, "messages", 3) if "events_data" in pool else (*base, 3)
    assert kit.tools(reading)[0].at == at


def test_requests_of_scorers_and_of_agents_inside_tools_are_counted_and_have_no_place() -> None:
    inner = request([user("sub")], turn("sub answer"))
    events = [
        request(TALK[:2], TALK[2]),
        {"event": "tool", "events": [inner, {"event": "subtask", "events": [inner]}]},
        request(TALK[:5], TALK[5]),
        request([user("grade it")], turn("GRADE: C")),
        request(TALK[:5], TALK[5], cache="read"),
    ]
    root = log(sample(TALK, events))
    assert [usage.n for usage in LENS.read(root).usage] == [1, 4]
    assert len(LENS.all_usage(root)) == 5


def test_a_request_is_known_by_the_id_of_its_answer_or_by_what_it_says() -> None:
    said = [user(), turn("", "a"), result("a", "r"), turn("same", id="m1"), turn("same", id="m2")]
    events = [
        request([user()], turn("", "a")),
        request(said[:3], turn("as it was sent", id="m1")),
        request(said[:4], turn("same", id="m2")),
    ]
    assert [usage.n for usage in read(sample(said, events)).usage] == [1, 3, 3]


COUNTS = [
    # input, output, total, cache read, cache write, reasoning → input, read, write, output
    ((100, 5, 105, 0, 0, 0), (100, 0, 0, 5)),
    ((100, 5, 105, 60, 0, 3), (40, 60, 0, 5)),  # OpenAI, as older versions have it
    ((40, 5, 105, 60, 0, 3), (40, 60, 0, 5)),  # the same, as newer ones
    ((3, 5, 118, 100, 10, 0), (3, 100, 10, 5)),  # Anthropic
    ((40, 5, 112, 60, 0, 7), (40, 60, 0, 12)),  # Gemini
    ((100, 5, 112, 60, 0, 7), (40, 60, 0, 12)),  # Gemini, as older versions have it
    ((40, 5, 0, 60, 0, 0), (40, 60, 0, 5)),
    ((10, 5, 15, 60, 0, 0), (10, 60, 0, 5)),  # cannot be inside
]


@pytest.mark.parametrize(("counts", "expected"), COUNTS)
def test_usage_has_one_meaning_whatever_the_log_means(
    counts: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    keys = ("input", "output", "total", "input_cache_read", "input_cache_write", "reasoning")
    names = [f"{key.replace('input_cache', 'input_tokens_cache')}" for key in keys]
    names = [name if "cache" in name else f"{name}_tokens" for name in names]
    usage = dict(zip(names, counts, strict=True))
    [found] = LENS.all_usage(log(sample([], [request([user()], turn("x"), usage)])))
    assert found == Usage(0, *expected, model="gpt-4o-x", time_ms=1_767_225_600_000)


def test_what_a_run_compacted_is_not_in_the_prompt() -> None:
    said = [*TALK[:5], turn("on", "z"), result("z", "three"), turn("done")]
    summary = user("all so far")
    events = [
        request(TALK[:2], TALK[2]),
        {"event": "compaction", "type": "summary"},
        request([TALK[0], summary], said[5]),
        request([TALK[0], summary, *said[5:7]], said[7]),
    ]
    reading = read(sample(said, events))
    assert [entry.kind.value for entry in reading.entries] == [
        *("user", "assistant", "tool", "assistant"),
    ]
    assert bodies(reading) == ["three"]
    assert [usage.n for usage in reading.usage] == [1, 3]
    assert (codes(reading), reading.findings[0].message) == (
        ["before_compaction"],
        "4 messages lie before the last compaction",
    )
    assert kit.tools(reading)[0].at == ("samples", 0, "events", 3, "input", 3)
    assert reading.overhead.texts[0] == "be good"


def test_results_that_a_run_cleared_are_as_they_were_sent() -> None:
    cleared = [*TALK[:3], result("x", "(removed)"), TALK[4]]
    events = [{"event": "compaction", "type": "edit"}, request(cleared, TALK[5])]
    reading = read(sample(TALK, events))
    assert codes(reading) == []  # the first request is no request after one that was compacted
    events = [request(TALK[:2], TALK[2]), *events]
    reading = read(sample(TALK, events))
    assert [(entry.body, entry.cleared) for entry in kit.tools(reading)] == [
        *(("(removed)", True), ("two", False)),
    ]
    assert codes(reading) == ["cleared_by_harness"]


def test_a_message_that_stands_in_two_places_is_never_changed() -> None:
    pool = [user(), turn("", "x"), result("x", "one"), turn("done")]
    data = archive([HEADER, *chunked(pool, [], [])])
    root = compactor.load(data).root
    shell = {"message_refs": [[0, 3], [1, 3], [3, 4]]}
    twice = apply_edits(root, [Edit(("samples/1_epoch_1/sample.json",), shell)])
    reading = LENS.read(twice)
    assert [(entry.body, entry.required) for entry in kit.tools(reading)] == [("one", True)] * 2


@pytest.mark.parametrize(
    ("message", "body", "error"),
    [
        (result("x", "out", error=None), "out", False),
        (result("x", "", error={"type": "timeout", "message": "too slow"}), "too slow", True),
        (result("x", "out", error={"type": "timeout", "message": "too slow"}), "too slow", True),
        (result("x", "out", error={"type": "unknown", "message": ""}), "out", True),
        (result("x", "out", tool_error="old"), "out", True),
        (result("x", [text("a"), text("b")]), "a\nb", False),
        (result("x", ""), "", False),
    ],
)
def test_a_failed_call_is_what_the_model_got_of_it(message: Any, body: str, error: bool) -> None:
    root = log(sample([user(), turn("", "x"), message, turn("on")]))
    reading = LENS.read(root)
    [entry] = kit.tools(reading)
    assert (entry.body, entry.error, entry.empty) == (body, error, not body)
    if body:
        check_rewritten(LENS, root, reading, 2)


def test_every_kind_of_content_has_its_part() -> None:
    content = [
        text("says"),
        {"type": "reasoning", "reasoning": "because", "signature": "s"},
        {"type": "reasoning", "reasoning": "A" * 40, "redacted": True},
        {"type": "image", "image": "https://x/y.png"},
        {"type": "document", "document": "data:application/pdf;base64,AAAA"},
        {"type": "audio", "audio": "a.mp3", "format": "mp3"},
        {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "s", "result": "r"},
        {"type": "data", "data": {"k": 1}},
    ]
    entry = read(sample([user(), {"role": "assistant", "content": content}])).entries[1]
    assert [part.kind for part in entry.parts] == [
        *(PartKind.TEXT, PartKind.REASONING, PartKind.SEALED, PartKind.IMAGE),
        *(PartKind.DOCUMENT, PartKind.DOCUMENT, PartKind.OTHER, PartKind.OTHER),
    ]


def test_arguments_are_rewritten_in_place_of_what_they_refer_to() -> None:
    long = "x" * 200
    made = turn("")
    made["tool_calls"] = [call("c") | {"arguments": {"command": "attachment://a", "n": [1]}}]
    root = log(sample([user(), made, result("c", "r"), turn("on")], attachments={"a": long}))
    entry: Entry = LENS.read(root).entries[1]
    assert json.loads(entry.calls[0].arguments) == {"command": long, "n": [1]}
    edits = LENS.rewrite_argument(root, entry, 0, ("command",), "gone")
    changed = apply_edits(root, edits)
    assert changed["samples"][0]["messages"][1]["tool_calls"][0]["arguments"] == {
        "command": "gone",
        "n": [1],
    }
    assert changed["samples"][0]["attachments"] == {"a": long}


def test_samples_are_named_by_id_and_epoch_and_the_first_is_read() -> None:
    samples = [sample([user(name)], id=name, epoch=n) for n, name in enumerate("aab")]
    samples[1]["epoch"] = 0  # a sample that was logged twice
    root = log(*samples)
    assert LENS.threads(root) == ["a_epoch_0", "a_epoch_0#2", "b_epoch_2"]
    texts = [LENS.of_thread(n).read(root).entries[0].parts[0].text for n in LENS.threads(root)]
    assert texts == ["a", "a", "b"]
    assert codes(LENS.read(root)) == ["other_threads"]
    assert codes(LENS.of_thread("b_epoch_2").read(root)) == []
    with pytest.raises(InputError) as caught:
        LENS.of_thread("c_epoch_1").read(root)
    assert caught.value.code == "input.shape"
    assert "a_epoch_0" in caught.value.hint


@pytest.mark.parametrize("root", [log(), {**log(), "samples": None, "plan": {}}])
def test_a_log_without_samples_is_refused(root: Any) -> None:
    assert LENS.recognises(root)
    with pytest.raises(InputError) as caught:
        LENS.read(root)
    assert caught.value.code == "input.shape"


@pytest.mark.parametrize(
    "root",
    [
        {"version": 2, "samples": []},
        {"version": "2", "eval": {"task": "t"}, "samples": []},
        {"version": 2, "eval": "t", "samples": []},
        {"version": 2, "eval": {}, "samples": []},
        {"version": True, "eval": {"task": "t"}, "samples": []},
        [log()],
        Members(["samples/1_epoch_1.json"], {}.__getitem__),
    ],
)
def test_what_is_no_log_is_not_recognised(root: Any) -> None:
    assert not LENS.recognises(root)


def test_small_damage_anywhere_is_a_refusal_or_a_reading() -> None:
    events = [
        request(TALK[:2], TALK[2]),
        {"event": "compaction"},
        request([], TALK[5], input_refs=[[0, 2]]),
    ]
    one = sample(TALK, events, attachments={"d": "x"}, events_data={"messages": TALK[:2]})
    kit.check_damage(LENS, log(one))
    for broken in kit.damaged(one):
        native = Members(
            ["header.json", "samples/1_epoch_1.json"],
            {"header.json": {}, "samples/1_epoch_1.json": broken}.__getitem__,
        )
        LENS.read(native)
        LENS.all_usage(native)


def test_a_member_that_is_damaged_is_said_with_its_name() -> None:
    data = archive([HEADER, Member("samples/1_epoch_1.json", b'{"id":')])
    with pytest.raises(InputError) as caught:
        compactor.load(data, name="a.eval")
    assert (caught.value.code, caught.value.path) == (
        *("input.not_json", "a.eval/samples/1_epoch_1.json:1:7"),
    )


def test_a_long_run_is_read_in_linear_time() -> None:
    """Each request refers to all messages before it, as real logs have it."""
    said: list[Any] = [user()]
    events: list[Any] = []
    for n in range(2000):
        made = turn("", f"c{n}", id=f"m{n}")
        events.append(request([], made, input_refs=[[0, len(said)]]))
        said += [made, result(f"c{n}", "out " * 200)]
    root = log(sample(said, events, events_data={"messages": copy.deepcopy(said)}))
    reading = LENS.read(root)
    assert len(reading.usage) == 2000
    policy = Policy(window=20_000, counter="chars4", counter_scale=1000)
    out = compactor.compact(Transcript(LENS, root, reading), policy)
    assert len(out.request.edits) > 1000
