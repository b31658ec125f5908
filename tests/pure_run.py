"""Compacts a fixed set of conversations and says a digest of every byte that came of it.

`test_same_bytes` runs it in processes of their own, which differ in everything but the input:

    python -m tests.pure_run [--reversed]
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import compactor
from compactor import Transcript
from compactor.core.policy import policy_from
from tests.harness import as_bytes
from tests.oracle import generate
from tests.test_differential import conversation

COUNT = 30


def digests(*, backwards: bool = False) -> list[str]:
    """One line a conversation, format and counter: what it is and the digest of its bytes."""
    jobs = list(_jobs())
    done = [_digest(*job) for job in (reversed(jobs) if backwards else jobs)]
    return sorted(done)


def _jobs() -> Iterator[tuple[int, str, str, Any, dict[str, Any]]]:
    for number in range(COUNT):
        entries, policy, settings = generate(random.Random(f"pure {number}"))
        talk = conversation(entries)
        counter = "chars4" if number % 3 else "o200k_base"
        policy |= {"counter": counter, "overheadTokens": settings.pop("overhead", 0)}
        for name in talk.formats if talk.facts else ():
            case = {"failed": talk.failed} | settings
            yield number, name, counter, talk.write(name), {"policy": policy, "settings": case}


def _digest(number: int, name: str, counter: str, native: Any, case: dict[str, Any]) -> str:
    request = compactor.load(native, name) if isinstance(native, bytes) else native
    policy = policy_from(case["policy"], "case")
    out = compactor.compact(request, policy, format=name, explain=True, **case["settings"])
    shown = out.request
    data = shown.to_bytes() if isinstance(shown, Transcript) else as_bytes(shown)
    parts = (data, "\n".join(out.journal.to_lines()), out.report.to_json(), repr(out.fates))
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part if isinstance(part, bytes) else part.encode())
    return f"{number} {name} {counter} {len(out.report.passes)} {whole.hexdigest()}"


if __name__ == "__main__":
    for line in digests(backwards="--reversed" in sys.argv[1:]):
        sys.stdout.write(line + "\n")
