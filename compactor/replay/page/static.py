"""What of the page needs no script: its title, the table of sums, the files that failed.

Text of transcripts and names of files are escaped here, and nowhere else. Specification:
docs/report.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from compactor.replay.page.told import Told
from compactor.replay.page.words import harmless, one_line
from compactor.replay.sums import Replay, by_policy, summed
from compactor.replay.table import COLUMNS, cells

ROWS_MAX: Final = 3000
"""Of the table."""
FAILED_MAX: Final = 300
"""Files that are named of those that failed."""
_NAME_CHARS: Final = 160
_WHY_CHARS: Final = 300


class Shown(NamedTuple):
    """A recording. told: None where only its sums are known."""

    name: str
    replays: Sequence[Replay]
    told: Told | None = None


def title(recordings: Sequence[Shown]) -> str:
    """What the page is of."""
    if len(recordings) == 1:
        return f"Replay of {_name(recordings[0].name)}"
    return f"Replay of {len(recordings):,} recordings"


def sums(recordings: Sequence[Shown], places: Mapping[int, int]) -> Iterator[str]:
    """The table: all recordings together, then each.

    Args:
        places: index of a recording → its place among those that are shown in full.
    """
    yield _SUMS
    yield '<table>\n<caption class="sr">Sums of every recording and policy</caption>\n<thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in ("recording", "policy", *COLUMNS))
    yield "</tr></thead>\n"
    if len(recordings) > 1:
        groups = by_policy(made for each in recordings for made in each.replays)
        totals = [summed(group) for group in groups.values()]
        yield from _group(f"all {len(recordings):,} recordings", totals)
    rows = 0
    for at, each in enumerate(recordings):
        rows += len(each.replays)
        if rows <= ROWS_MAX:
            yield from _group(each.name, each.replays, places.get(at))
    yield "</table>\n"
    if rows > ROWS_MAX:
        yield f"<p>Only the first {ROWS_MAX:,} of {rows:,} rows are here.</p>\n"
    yield "</div>\n</section>\n"


def _group(name: str, replays: Sequence[Replay], place: int | None = None) -> Iterator[str]:
    yield "<tbody>\n" if place is None else f'<tbody data-at="{place}">\n'
    for number, made in enumerate(replays):
        head = f'<th scope="rowgroup" rowspan="{len(replays)}">{escape(_name(name))}</th>'
        numbers = "".join(f"<td>{cell}</td>" for cell in cells(made))
        policy = escape(_name(made.policy))
        yield f'<tr>{"" if number else head}<th scope="row">{policy}</th>{numbers}</tr>\n'
    yield "</tbody>\n"


def failed(failures: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The files that could not be replayed, and why. Nothing where there are none."""
    if not failures:
        return
    yield '<section aria-labelledby="failed">\n'
    yield f'<h2 id="failed">Not replayed: {_files(len(failures))}</h2>\n<ul class="failed">\n'
    for name, why in failures[:FAILED_MAX]:
        yield f"<li><b>{escape(_name(name))}</b> {escape(harmless(why[:_WHY_CHARS]))}</li>\n"
    yield "</ul>\n"
    if len(failures) > FAILED_MAX:
        yield f"<p>and {_files(len(failures) - FAILED_MAX)} more</p>\n"
    yield "</section>\n"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _name(text: str) -> str:
    return one_line(text, _NAME_CHARS)


_SUMS: Final = """<section aria-labelledby="sums">
<h2 id="sums" tabindex="-1">Sums</h2>
<p class="hint">Tokens are estimates; cost is that of the prompts alone. “to none” is cost as a \
multiple of doing nothing. Regret is the share of identifiers that the model used while every text \
that held them was elided.</p>
<div class="wide" tabindex="0" role="region" aria-labelledby="sums">
"""
