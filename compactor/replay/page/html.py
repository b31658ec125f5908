"""The page: a skeleton with tables that need no script, the data, one style and one script.

A content security policy allows exactly these two by their digests, and nothing from anywhere.
Text of transcripts is in the data alone, which is no script, and is shown as text only.
Specification: docs/report.md.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any, Final

import msgspec

from compactor.loop import loop
from compactor.replay.page.shelf import fitted
from compactor.replay.page.static import Shown, failed, sums, title
from compactor.replay.page.tell import sums_of
from compactor.replay.page.told import Text, Told
from compactor.replay.page.words import script_json
from compactor.replay.sums import by_policy, summed
from compactor.replay.trace import FATES_SHOWN

PAGE_BYTES_MAX: Final = 16_000_000
"""No page is larger, whatever was replayed."""
_SCRIPTS: Final = (
    *("draw.js", "axes.js", "charts.js", "frontier.js", "passes.js", "entries.js", "numbers.js"),
    *("overview.js", "recording.js", "cursor.js", "page.js"),
)


def html(recordings: Sequence[Shown], failures: Sequence[tuple[str, str]] = ()) -> str:
    """The page of some replays.

    Args:
        recordings: at least one; those that were told are shown in full, as far as there is room.
        failures: name of a file, and why it is not among them.

    Returns:
        the same text for the same arguments, at most `PAGE_BYTES_MAX` bytes of UTF-8.
    """
    costly = _costliest_first(recordings)
    while True:
        text = _page(recordings, sorted(costly), failures)
        if not costly or len(text.encode()) <= PAGE_BYTES_MAX:
            return text
        costly = costly[: len(costly) // 2]


def _costliest_first(recordings: Sequence[Shown]) -> list[int]:
    """Indexes of those that were told, by what they cost under the first policy."""
    told = [at for at, each in enumerate(recordings) if each.told is not None]
    return sorted(told, key=lambda at: (-recordings[at].replays[0].cost_nano, at))


def _page(
    recordings: Sequence[Shown], at: Sequence[int], failures: Sequence[tuple[str, str]]
) -> str:
    """at: indexes of those that are shown in full."""
    told = fitted([each for each in (recordings[k].told for k in at) if each is not None])
    first = _costliest_first([recordings[k] for k in at])
    data = {
        "fates": list(FATES_SHOWN.items()),
        "totals": _totals(recordings),
        "all": len(recordings),
        "first": first[0] if first else 0,
        "recordings": [_plain(each) for each in told],
    }
    style, script = _style(), _script()
    return "".join(
        (
            _HEAD.format(
                title=escape(title(recordings)),
                style=style,
                style_digest=_digest(style),
                script_digest=_digest(script),
            ),
            *sums(recordings, {k: place for place, k in enumerate(at)}),
            *failed(failures),
            _FOOT.format(ruleset=loop().ruleset),
            f'<script type="application/json" id="data">{script_json(data)}</script>\n',
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _totals(recordings: Sequence[Shown]) -> list[dict[str, Any]]:
    """Of all recordings, a row a policy; none where there is but one."""
    if len(recordings) < 2:
        return []
    groups = by_policy(made for each in recordings for made in each.replays)
    return [sums_of(summed(group)) for group in groups.values()]


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
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#sums">Skip to the table of sums</a>
<header>
<h1>{title}</h1>
<p id="about">What recorded requests would have cost under other policies.</p>
</header>
<main>
<noscript><p class="note">The charts need JavaScript; the table below does not.</p></noscript>
<div id="report"></div>
"""

_FOOT: Final = """</main>
<footer><p>Made by <code>compactor replay --html</code>, ruleset {ruleset}. \
Nothing on this page was sent anywhere, and nothing is.</p></footer>
"""
