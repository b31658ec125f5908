"""Checks that hold for every recorded format, and small damage done to a recording everywhere."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compactor
from compactor import Policy, Transcript
from compactor.core.errors import InputError
from compactor.core.model import Entry, Kind, Reading, Usage, entry_digest
from compactor.formats.lens import Lens, RecordedUsage, Threads
from compactor.formats.raw.native import Rows, apply_edits, read_document

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"
SHARES = (2, 4, 10)
ODD: tuple[Any, ...] = (None, True, 5, "", "x", [], {}, [5], ["x"], [{}], {"a": 1}, [[]])


TALK = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "tool_use", "id": "x", "name": "bash", "input": {"command": "x"}},
            {"type": "tool_use", "id": "y", "name": "bash", "input": {"command": "y"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": "one"},
            {"type": "tool_result", "tool_use_id": "y", "content": "two"},
        ],
    },
    {"role": "assistant", "content": "done"},
]
"""A conversation that every format can express; `check_same` compares with it."""


def check_same(reading: Reading) -> None:
    """The entries are those of `TALK`, in what rules may look at."""
    wanted = compactor.formats.lens("anthropic").read(TALK).entries
    assert [*map(entry_digest, reading.entries)] == [*map(entry_digest, wanted)]
    names = [[entry.name for entry in entries] for entries in (reading.entries, wanted)]
    assert names[0] == names[1]


def files(folder: str) -> list[Path]:
    """The recordings of a format; none where there is no such folder."""
    return sorted((RECORDED / folder).glob("*.json*"))


def rows_of(path: Path) -> list[Any]:
    """The lines of a recording, read without the library."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def tools(reading: Reading) -> list[Entry]:
    return [entry for entry in reading.entries if entry.kind is Kind.TOOL]


def totals(usage: tuple[Usage, ...] | list[Usage]) -> tuple[int, ...]:
    """Requests, input, cache read, cache write, output."""
    keys = ("input", "cache_read", "cache_write", "output")
    return (len(usage), *(sum(getattr(u, key) for u in usage) for key in keys))


def check_untouched(path: Path, name: str) -> None:
    """It is recognised, and written back byte for byte, with every result known by its call."""
    data = path.read_bytes()
    assert compactor.detect(data) == name
    transcript = compactor.load(data)
    assert transcript.to_bytes() == data
    for entry in tools(transcript.reading):
        assert entry.call is not None
        assert entry.call.name
    for usage in transcript.reading.usage:
        assert 0 < usage.n <= len(transcript.entries)
    places = [usage.n for usage in transcript.reading.usage]
    assert places == sorted(places)


def check_one_change(path: Path, name: str, every: int = 1) -> None:
    """Each result rewritten alone changes its own body, and one record of the file.

    Args:
        every: try one result in so many, where a file has hundreds.
    """
    document = read_document(path.read_bytes(), path.name)
    lens = compactor.formats.lens(name)
    reading = lens.read(document.root)
    results = [s for s, e in enumerate(reading.entries) if e.kind is Kind.TOOL]
    for seq in results[::every]:
        entry = reading.entries[seq]
        if entry.empty or entry.required:
            continue
        changed = apply_edits(document.root, lens.rewrite_body(document.root, entry, "gone"))
        pairs = zip(lens.messages(document.root), lens.messages(changed), strict=True)
        assert [old is new for old, new in pairs].count(False) == 1
        again = lens.read(changed).entries
        assert again[seq].body == "gone"
        assert [e.body for e in again[:seq]] == [e.body for e in reading.entries[:seq]]
        assert [e.body for e in again[seq + 1 :]] == [e.body for e in reading.entries[seq + 1 :]]


def check_compacts(path: Path, name: str) -> int:
    """Compacted at three windows into a recording that reads the same but for elided bodies.

    Returns:
        the number of elisions.
    """
    data = path.read_bytes()
    before = compactor.load(data, name)
    whole = compactor.compact(before, policy(10**9)).report.tokens_before
    count = 0
    for share in SHARES:
        out = compactor.compact(before, policy(max(whole // share, 10)), explain=True)
        after = compactor.load(out.request.to_bytes(), name)
        elided = {fate.seq for fate in out.fates if fate.fate == "elided"}
        _only_elided(before, after, elided)
        again = compactor.compact(after, policy(10**9)).report.tokens_before
        assert again == out.report.tokens_after
        count += len(elided)
    return count


def _only_elided(before: Transcript, after: Transcript, elided: set[int]) -> None:
    for seq, (old, new) in enumerate(zip(before.entries, after.entries, strict=True)):
        assert (old.kind, old.calls, old.call_id, old.call) == (
            *(new.kind, new.calls, new.call_id, new.call),
        )
        if seq in elided:
            assert new.body.startswith(f"[elided {len(old.body)} chars")
        else:
            assert (new.parts, new.body) == (old.parts, old.body)


def policy(window: int) -> Policy:
    return Policy(window=window, counter="chars4", counter_scale=1000)


def damaged(root: Any) -> Iterator[Any]:
    """The root with each of its values replaced by each odd one, and each key removed."""
    for at in list(_paths(root)):
        for odd in (*ODD, KeyError):
            broken = copy.deepcopy(root)
            inner = broken
            for step in at[:-1]:
                inner = inner[step]
            if odd is KeyError:
                del inner[at[-1]]
            else:
                inner[at[-1]] = copy.deepcopy(odd)
            yield broken


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*at, key)
        if isinstance(item, (dict, list)):
            yield from _paths(item, (*at, key))


def check_damage(lens: Lens, root: Any) -> None:
    """Whatever is broken: a refusal, or a reading all of whose results can be rewritten."""
    for broken in damaged(root):
        native = Rows(broken) if isinstance(root, Rows) else broken
        assert lens.recognises(native) in (True, False)
        try:
            reading = lens.read(native)
            _check_beside(lens, native, reading)
        except InputError as error:
            if error.code != "input.shape":
                raise
            continue
        for entry in reading.entries:
            if entry.kind is Kind.TOOL and not entry.empty and not entry.required:
                apply_edits(native, lens.rewrite_body(native, entry, "gone"))
            for index, call in enumerate(entry.calls):
                if not call.arguments.startswith("{"):
                    continue
                for key, value in json.loads(call.arguments).items():
                    if isinstance(value, str):
                        edits = lens.rewrite_argument(native, entry, index, (key,), "gone")
                        apply_edits(native, edits)


def _check_beside(lens: Lens, native: Any, reading: Reading) -> None:
    """What a lens says beside a reading: usage of all requests, and threads that can be read."""
    if isinstance(lens, RecordedUsage):
        assert len(reading.usage) <= sum(usage.requests for usage in lens.all_usage(native))
    if isinstance(lens, Threads):
        for name in lens.threads(native):
            lens.of_thread(name).read(native)
