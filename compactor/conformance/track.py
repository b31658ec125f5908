"""What passed the last time, so that a run can say only what changed.

The file is one JSON object, case id → "pass" or "fail". Cases that were not run keep their line.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from compactor.conformance.runner import Verdict
from compactor.core.errors import InputError

Track = Mapping[str, str]
PASS, FAIL, NEW = "pass", "fail", "new"


class Change(NamedTuple):
    """A case whose verdict is another than the last time."""

    id: str
    was: str
    now: str


def read_track(path: Path) -> Track:
    """What a track file remembers; nothing when there is none yet.

    Raises:
        InputError: `input.not_json`, `input.shape`: it is no track file, and is left alone.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        known = json.loads(text)
    except ValueError as error:
        raise InputError("no track file", code="input.not_json", path=str(path)) from error
    if not isinstance(known, dict) or not set(map(str, known.values())) <= {PASS, FAIL}:
        raise InputError("no track file", code="input.shape", path=str(path))
    return known


def updated(known: Track, verdicts: Iterable[Verdict]) -> list[Change]:
    """What changed since a track was written, in the order of the verdicts."""
    changes = (Change(v.case.id, known.get(v.case.id, NEW), _word(v)) for v in verdicts)
    return [change for change in changes if change.was != change.now]


def write_track(path: Path, known: Track, verdicts: Iterable[Verdict]) -> None:
    """Remember the verdicts. The file is replaced whole: a run cut short leaves the old one."""
    now = {**known, **{verdict.case.id: _word(verdict) for verdict in verdicts}}
    handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(dict(sorted(now.items())), file, indent=1)
            file.write("\n")
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _word(verdict: Verdict) -> str:
    return PASS if verdict.passed else FAIL
