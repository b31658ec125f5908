"""Replays recorded conversations: what was sent, what the prompt cache could serve, what it cost.

    compactor.replay("session.jsonl", "priced").cost_to_none

Tables and pure functions over entries; nothing is sent and nothing is written. Specification:
DESIGN section 9; docs/replay.md.
"""

from compactor.replay.run import Bench, replay
from compactor.replay.simulate import Row
from compactor.replay.sums import Replay
from compactor.replay.truth import Truth, against_usage

__all__ = ["Bench", "Replay", "Row", "Truth", "against_usage", "replay"]
