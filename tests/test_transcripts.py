"""Every recorded session and request of `../shared/transcripts` in our formats, where it exists.

Each is read, written back byte for byte, and compacted at three windows, as shares of its own size.
Counted with the real vocabulary, for real text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactor
from compactor import Outcome, Policy, Transcript
from compactor.core.model import Kind
from compactor.formats.raw.native import read_document
from tests import pairing
from tests.harness import as_bytes

SHARED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"
FORMAT_OF = {
    "claude-code": "claude-code",
    "anthropic-http": "anthropic",
    "gemini-http": "gemini",
    "openai-chat-http": "openai-chat",
    "openai-responses-http": "openai-responses",
}
"""Folder → format. In `*-http` each line holds a request body under `request`."""
SHARES = (2, 4, 10)
SERVER_SIDE = ("previous_response_id", "conversation")


def recorded() -> Iterator[Any]:
    """(bytes, format) of every file or request body."""
    for folder, name in FORMAT_OF.items():
        for path in sorted((SHARED / folder).iterdir()):
            if not folder.endswith("-http"):
                yield pytest.param(path.read_bytes(), name, id=path.stem)
                continue
            for number, line in enumerate(path.read_bytes().splitlines()):
                document = read_document(line, path.name)
                if is_request(document.root.get("request")):
                    body = document.raw(("request",)).encode("utf-8", "surrogateescape")
                    yield pytest.param(body, name, id=f"{path.stem}-{number}")


def is_request(body: Any) -> bool:
    """Whether a line holds a request with its history: other endpoints are recorded as well."""
    if not isinstance(body, dict) or any(body.get(key) is not None for key in SERVER_SIDE):
        return False
    return any(isinstance(body.get(key), list) for key in ("messages", "input", "contents"))


each_recording = pytest.mark.parametrize(("data", "format_name"), list(recorded()))


def policy(window: int) -> Policy:
    return Policy(window=window, counter="o200k_base", counter_scale=1000)


def at_share(transcript: Transcript, share: int) -> Outcome:
    """The recording under a window that is a share of its own size."""
    whole = compactor.compact(transcript, policy(10**9)).report.tokens_before
    window = max(whole // share, 10)
    return compactor.compact(transcript, policy(window), explain=True)


@each_recording
def test_a_recording_is_written_back_byte_for_byte(data: bytes, format_name: str) -> None:
    transcript = compactor.load(data, format_name)
    assert transcript.to_bytes() == data
    assert compactor.detect(data) == format_name
    out = compactor.compact(transcript, policy(10**9))
    assert out.request.to_bytes() == data
    assert out.report.passes == ()


@pytest.mark.parametrize("share", SHARES)
@each_recording
def test_a_recording_is_compacted_into_a_valid_one(
    data: bytes, format_name: str, share: int
) -> None:
    transcript = compactor.load(data, format_name)
    out = at_share(transcript, share)
    again = compactor.load(out.request.to_bytes(), format_name)
    assert as_bytes(again.root) == as_bytes(out.request.view())
    assert out.report.tokens_after == compactor.compact(again, policy(10**9)).report.tokens_before
    before, after = (list(transcript.lens.messages(each.root)) for each in (transcript, again))
    if format_name in pairing.CHECKS:
        assert pairing.problems(format_name, after) == pairing.problems(format_name, before)
    _only_elided_bodies_differ(transcript, again, out)


def _only_elided_bodies_differ(before: Transcript, after: Transcript, out: Outcome) -> None:
    """Entry by entry, and message by message."""
    elided = {fate.seq for fate in out.fates if fate.fate == "elided"}
    touched = set()
    for seq, (old, new) in enumerate(zip(before.entries, after.entries, strict=True)):
        facts = [(e.kind, e.calls, e.call_id, e.call, e.error) for e in (old, new)]
        assert facts[0] == facts[1]
        if seq in elided:
            assert old.kind is Kind.TOOL
            assert new.body.startswith(f"[elided {len(old.body)} chars")
            touched.add(next(step for step in old.at if isinstance(step, int)))
        else:
            assert (new.parts, new.body) == (old.parts, old.body)
    lens = before.lens
    pairs = zip(lens.messages(before.root), lens.messages(after.root), strict=True)
    for index, (old_message, new_message) in enumerate(pairs):
        if index not in touched:
            assert json.dumps(old_message) == json.dumps(new_message)


@each_recording
def test_a_recording_in_steps_with_its_journal_gives_the_same_bytes(
    data: bytes, format_name: str
) -> None:
    """The journal of the call at a quarter shows, and adds nothing, when it is handed back."""
    transcript = compactor.load(data, format_name)
    out = at_share(transcript, 4)
    window = out.report.window
    again = compactor.compact(transcript, policy(window), out.journal)
    assert again.journal == out.journal
    assert again.request.to_bytes() == out.request.to_bytes()
    assert compactor.render(transcript, out.journal).to_bytes() == out.request.to_bytes()


def test_most_recorded_sessions_have_something_to_elide() -> None:
    """So that the tests above compare something."""
    sessions = sorted((SHARED / "claude-code").iterdir())
    outcomes = [at_share(compactor.load(path), 4) for path in sessions]
    counts = [sum(fate.fate == "elided" for fate in out.fates) for out in outcomes]
    assert sum(count > 0 for count in counts) >= 10
    assert sum(counts) >= 300
