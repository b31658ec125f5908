"""Deterministic, cache-stable compaction of LLM agent transcripts.

    import compactor

    policy = compactor.Policy(window=200_000)
    out = compactor.compact(request, policy)
    send(out.request)

No model is involved: the same history gives the same bytes on every machine. See docs/python.md.
"""

from compactor.api import Outcome, Policy, compact, render
from compactor.calibration import Calibration, calibrate
from compactor.conversion import Converted, convert
from compactor.core.errors import CompactorError
from compactor.core.journal import Journal
from compactor.core.report import Report
from compactor.inspection import Inspected, inspect
from compactor.replay import Replay, replay
from compactor.session import AsyncSession, Session
from compactor.transcript import Transcript, detect, load

__all__ = [
    "AsyncSession",
    "Calibration",
    "CompactorError",
    "Converted",
    "Inspected",
    "Journal",
    "Outcome",
    "Policy",
    "Replay",
    "Report",
    "Session",
    "Transcript",
    "calibrate",
    "compact",
    "convert",
    "detect",
    "inspect",
    "load",
    "render",
    "replay",
]
__version__ = "0.1.0"
