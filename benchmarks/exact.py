"""`python -m benchmarks.exact PATH…`: is every elided result of recordings recalled byte for byte?

Each conversation of each file is imported into one store, compacted in a window of a fraction of
its size by another `Session`, and written; the result is read again as the model's side would, and
each marker's own text names what is recalled and compared with the file. Exits 1 where one differs.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import compactor
from compactor import Policy, Session, Transcript
from compactor.core.errors import InputError
from compactor.core.model import Entry
from compactor.store import SqliteStore, Store

SHARES = (3, 12)
"""Windows, as shares of a conversation's size."""
_REF = re.compile(r"— recall (?:seq=([0-9]+)|(#[0-9a-f]+))\]")
_MEASURE = Policy(window=10**9, counter="chars4", counter_scale=1000)


class Checked(NamedTuple):
    """What became of one conversation.

    elided, exact: results elided, and those that came back as they were; chars: of the latter.
    lost: what did not, a line each.
    """

    elided: int
    exact: int
    chars: int
    lost: tuple[str, ...]

    def and_also(self, other: Checked) -> Checked:
        return Checked(
            self.elided + other.elided,
            self.exact + other.exact,
            self.chars + other.chars,
            (*self.lost, *other.lost),
        )


NOTHING = Checked(0, 0, 0, ())


def conversations(path: Path) -> Iterator[Transcript]:
    """Every conversation of a file that is a recording; none of one that is not."""
    try:
        whole = compactor.load(path)
    except InputError:
        return
    for name in whole.threads or ("",):
        yield whole.of_thread(name) if name else whole


def check(store: Store, name: str, transcript: Transcript, share: int) -> Checked:
    """Import, compact, read back and recall one conversation. No results, nothing to do.

    Args:
        name: of a new session of the store.
    """
    Session(store, name).observe(transcript)
    window = compactor.compact(transcript, _MEASURE).report.tokens_before // share
    policy = Policy(
        window=max(window, 100),
        counter="chars4",
        counter_scale=1000,
        keep_recent=1,
        evidence_budget_tokens=0,
        min_gain=0,
        min_freed=0,
    )
    outcome = Session(store, name, policy).prepare(transcript, explain=True)
    shown = _entries(outcome.request, transcript)
    session, originals = Session(store, name, create=False), list(transcript.entries)
    lost, chars = [], 0
    elided = [place for place, fate in enumerate(outcome.fates) if fate.fate == "elided"]
    for place in elided:
        if _recalled(session, shown[place].body) != originals[place].body:
            lost.append(f"{name}, entry {place}: {shown[place].body[:200]!r}")
        chars += len(originals[place].body)
    return Checked(len(elided), len(elided) - len(lost), chars, tuple(lost))


def _entries(request: Transcript, transcript: Transcript) -> Sequence[Entry]:
    """A compacted recording as it is read again from its bytes."""
    again = compactor.load(request.to_bytes(), transcript.format, thread=transcript.thread)
    assert len(again.entries) == len(transcript.entries)
    return again.entries


def _recalled(session: Session, marker: str) -> str | None:
    """What a marker's text leads to; None where it leads nowhere."""
    found = _REF.search(marker)
    if found is None:
        return None
    seq, number = found.groups()
    return session.recall(seq=int(seq)) if seq else session.recall(id=number)


def main(arguments: Sequence[str]) -> int:
    """Check every file below some paths, and print a line for each and one for all."""
    total = files = 0
    lost: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="exact-") as folder,
        SqliteStore.open(Path(folder) / "store") as store,
    ):
        for path in files_below(arguments):
            found = NOTHING
            for number, transcript in enumerate(conversations(path)):
                for share in SHARES:
                    name = f"{files} {path.name[-99:]} {number} {share}"
                    found = found.and_also(check(store, name, transcript, share))
            sys.stdout.write(f"{path}: {found.exact} of {found.elided}, {found.chars:,} chars\n")
            total, files, lost = total + found.elided, files + 1, [*lost, *found.lost]
        wrong = [finding.message for finding in store.verify()]
    sys.stdout.write(f"{files} files, {total} elided results, {len(lost)} not recalled exactly\n")
    sys.stdout.writelines(f"{line}\n" for line in (*lost, *wrong))
    return 1 if lost or wrong or not total else 0


def files_below(arguments: Sequence[str]) -> Iterator[Path]:
    """Files, and those below folders in the order of their names."""
    for argument in map(Path, arguments):
        below = sorted(argument.rglob("*")) if argument.is_dir() else [argument]
        yield from (path for path in below if path.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
