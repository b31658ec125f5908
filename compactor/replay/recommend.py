"""Which policy to use: a sweep over one's own recordings, and the cheapest that loses little.

Among the policies of ours that keep no more requests over the window than any other, and whose
regret is within a limit, the one that costs least over all recordings; of equal ones the one with
less regret. Specification: docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compactor.replay.sums import Replay, by_policy, summed

SWEEP: Final = (
    "none", "threshold", "threshold:window=200000", "threshold:window=100000",
    "priced:keepRecent=8", "priced:keepRecent=16", "priced:keepRecent=30",
    "priced:keepRecent=50",
)  # fmt: skip
REGRET_MAX: Final = 0.03
"""More than this share of identifiers out of sight, and a policy is not recommended."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A policy over all recordings.

    cost_to_none: by the sums; regret: the mean over recordings.
    chosen: the one to use. why_not: of another, in words.
    """

    policy: str
    recordings: int
    cost_nano: int
    cost_to_none: float
    regret: float
    overflow_requests: int
    breaks: int
    chosen: bool = False
    why_not: str = ""


def recommend(replays: Sequence[Replay], regret_max: float = REGRET_MAX) -> list[Choice]:
    """The policies of a sweep, the one to use among them. O(replays).

    Args:
        replays: of every recording under the same policies, `none` among them.
        regret_max: see above.
    """
    groups = by_policy(replays)
    nothing = sum(made.cost_nano for made in groups.get("none", ()))
    choices = [_choice(policy, group, nothing) for policy, group in groups.items()]
    least = min((choice.overflow_requests for choice in choices), default=0)
    fitting = [c for c in choices if c.overflow_requests == least and c.regret <= regret_max]
    best = min(fitting, key=lambda c: (c.cost_nano, c.regret), default=None)
    return [
        msgspec.structs.replace(
            choice, chosen=choice is best, why_not=_why_not(choice, best, least, regret_max)
        )
        for choice in choices
    ]


def _choice(policy: str, group: Sequence[Replay], nothing: int) -> Choice:
    total = summed(group)
    return Choice(
        policy=policy,
        recordings=len(group),
        cost_nano=total.cost_nano,
        cost_to_none=round(total.cost_nano / nothing, 4) if nothing else 1.0,
        regret=total.regret,
        overflow_requests=total.overflow_requests,
        breaks=total.breaks,
    )


def _why_not(choice: Choice, best: Choice | None, least: int, regret_max: float) -> str:
    """Why a policy is not the one to use."""
    if choice is best:
        return ""
    if choice.overflow_requests > least:
        return f"{choice.overflow_requests - least:,} more requests over the window"
    if choice.regret > regret_max:
        return f"regret {choice.regret:.1%} is over {regret_max:.0%}"
    return "costs more"
