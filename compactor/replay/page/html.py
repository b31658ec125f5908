"""The page: a skeleton with a table that needs no script, the data, one style and one script.

A content security policy allows exactly these two by their digests, and nothing from anywhere.
Text of transcripts is in the data alone, which is no script, and is shown as text only.
Specification: docs/report.md.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any, Final

import msgspec

from compactor.loop import loop
from compactor.replay.page.shelf import fitted
from compactor.replay.page.told import Text, Told
from compactor.replay.page.words import harmless, script_json
from compactor.replay.sums import Replay
from compactor.replay.trace import FATES_SHOWN

PAGE_BYTES_MAX: Final = 16_000_000
"""No page is larger, whatever was replayed."""
ROWS_MAX: Final = 3000
"""Of the table."""
_SCRIPTS: Final = ("draw.js", "charts.js", "passes.js", "entries.js", "page.js")
_COLUMNS: Final = (
    *("recording", "policy", "requests", "sent", "cached", "written", "uncached", "cost"),
    *("to none", "to optimum", "breaks", "passes", "overflow", "regret"),
)


def html(told: Sequence[Told], rows: Sequence[tuple[str, Replay]]) -> str:
    """The page of some replays.

    Args:
        told: recordings to show in full, see `Shelf`.
        rows: name and sums of every recording and policy.

    Returns:
        the same text for the same arguments, at most `PAGE_BYTES_MAX` bytes of UTF-8.
    """
    shown = fitted(told)
    data = {
        "fates": list(FATES_SHOWN.items()),
        "recordings": [_plain(each) for each in shown],
        "all": len({name for name, _ in rows}),
    }
    style, script = _style(), _script()
    return "".join(
        (
            _HEAD.format(style=style, style_digest=_digest(style), script_digest=_digest(script)),
            "".join(_table(rows)),
            _FOOT.format(ruleset=loop().ruleset),
            f'<script type="application/json" id="data">{script_json(data)}</script>\n',
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _plain(told: Told) -> dict[str, Any]:
    """As JSON values; a text of which all is there is a string."""
    texts = [text.head if not text.omitted else text for text in told.texts]
    whole: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(told, texts=[]))
    return whole | {"texts": [_text(text) for text in texts]}


def _text(text: str | Text) -> str | list[str | int]:
    return text if isinstance(text, str) else [text.head, text.omitted, text.tail]


@cache
def _style() -> str:
    return _asset("page.css")


@cache
def _script() -> str:
    """One function around all, so that nothing of it can be named from outside."""
    return '(function () {\n"use strict";\n' + "".join(map(_asset, _SCRIPTS)) + "}());"


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _table(rows: Sequence[tuple[str, Replay]]) -> Iterator[str]:
    """Every recording and policy."""
    yield '<table>\n<caption class="sr">Sums of every recording and policy</caption>\n<thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    yield "</tr></thead>\n<tbody>\n"
    for name, made in rows[:ROWS_MAX]:
        first, *others = _cells(name, made)
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        yield f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>\n'
    yield "</tbody>\n</table>\n"
    if len(rows) > ROWS_MAX:
        yield f"<p>and {len(rows) - ROWS_MAX:,} rows more</p>\n"


def _cells(name: str, made: Replay) -> tuple[str, ...]:
    sizes = (made.requests, made.tokens_sent, made.cached, made.written, made.uncached)
    best = made.cost_to_optimum
    return (
        harmless(name[-160:]),
        harmless(made.policy[:160]),
        *(f"{size:,}" for size in sizes),
        f"${made.cost_nano / 1e9:,.4f}",
        f"{made.cost_to_none:.2f}",
        "–" if best is None else f"{best:.3f}",
        *(f"{count:,}" for count in (made.breaks, made.passes, made.overflow_requests)),
        f"{made.regret:.1%}",
    )


_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'sha256-{script_digest}'; style-src 'sha256-{style_digest}'; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Replay</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#sums">Skip to the table of sums</a>
<header>
<h1>Replay</h1>
<p id="about">What recorded requests would have cost under other policies.</p>
<div id="choose"></div>
</header>
<main>
<noscript><p class="note">The charts need JavaScript; the table below does not.</p></noscript>
<div id="report"></div>
<section aria-labelledby="sums">
<h2 id="sums" tabindex="-1">Sums</h2>
<p class="hint">Tokens are estimates; cost is that of the prompts alone. Regret is the share of \
identifiers that the model used while every text that held them was elided.</p>
<div class="wide" tabindex="0" role="region" aria-labelledby="sums">
"""

_FOOT: Final = """</div>
</section>
</main>
<footer><p>Made by <code>compactor replay --html</code>, ruleset {ruleset}. \
Nothing on this page was sent anywhere, and nothing is.</p></footer>
"""
