"""The files of `../shared/bugs`, and what the tests of them look at.

A *pass* is one compaction over the whole input as those files define it: the newest turn protected,
every result above 200 characters a candidate, evidence budget 0. Run as a program it says a digest
of what a pass makes of each file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import compactor
from compactor import Outcome, Policy, Transcript
from tests.harness import messages

ROOT = Path(__file__).resolve().parents[1]
BUGS = ROOT.parent / "shared" / "bugs"

FORMAT_OF = {
    **dict.fromkeys(
        ("B01", "B05", "B08", "B13", "B36", "B41", "B43", "B59", "B62", "B64"), "anthropic"
    ),
    **dict.fromkeys(("B11", "B18", "B68"), "openai-chat"),
    **dict.fromkeys(("B30", "B32", "B73"), "claude-code"),
}
PASS = Policy(
    window=10**6,
    keep_recent=2,
    recent_tokens=10**6,
    evidence_budget_tokens=0,
    counter="chars4",
    overhead_tokens=0,
    recallable=True,
)


def with_settings(**changes: Any) -> Policy:
    """The policy of a pass, with other settings."""
    return msgspec.structs.replace(PASS, **changes)


def data_of(name: str) -> bytes:
    return next(BUGS.glob(f"{name}.json*")).read_bytes()


def loaded(name: str) -> Transcript:
    return compactor.load(data_of(name), FORMAT_OF[name], name=name)


def one_pass(request: Any, policy: Policy = PASS, **more: Any) -> Outcome:
    """One compaction over the whole input, whatever its size."""
    return compactor.compact(request, policy, overflowed=True, explain=True, **more)


def shown(outcome: Outcome) -> list[Any]:
    """The messages as sent."""
    native = outcome.request.view() if isinstance(outcome.request, Transcript) else outcome.request
    return list(messages(native))


def elided(outcome: Outcome) -> list[int]:
    return [fate.seq for fate in outcome.fates if fate.fate == "elided"]


def results(outcome: Outcome) -> dict[str, Any]:
    """The `tool_result` blocks as sent, by call id."""
    content = [m["content"] for m in shown(outcome) if isinstance(m["content"], list)]
    blocks = [block for blocks in content for block in blocks]
    return {b["tool_use_id"]: b for b in blocks if b["type"] == "tool_result"}


def codes(outcome: Outcome) -> list[str]:
    return [finding.code for finding in outcome.report.findings]


def module(name: str) -> ModuleType:
    """A generator or the checks that lie beside the files."""
    spec = importlib.util.spec_from_file_location(name, BUGS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def changed_lines(transcript: Transcript, outcome: Outcome) -> list[int]:
    """Indexes of the lines that a pass changed in a file."""
    before = transcript.to_bytes().splitlines()
    after = outcome.request.to_bytes().splitlines()
    return [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]


def digests() -> list[str]:
    data = [one_pass(loaded(name)).request.to_bytes() for name in FORMAT_OF]
    return [hashlib.sha256(each).hexdigest() for each in data]


if __name__ == "__main__":
    sys.stdout.write("\n".join(digests()) + "\n")
