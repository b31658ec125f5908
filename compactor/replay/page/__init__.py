"""The report of replays: one self-contained HTML page, and the same curves as a picture.

    told = tell("session.jsonl", bench, [bench.trace("priced")])
    html([Shown("session.jsonl", [replay], told)])

Needs no network and asks for none; the same replays give the same bytes. Specification:
docs/report.md.
"""

from compactor.replay.page.html import PAGE_BYTES_MAX, html
from compactor.replay.page.shelf import Shelf, fitted
from compactor.replay.page.static import Shown
from compactor.replay.page.tell import tell
from compactor.replay.page.told import Told

__all__ = ["PAGE_BYTES_MAX", "Shelf", "Shown", "Told", "fitted", "html", "tell"]
