"""The cheapest schedule of passes, by making every one of them.

Passes are the library's own, made through its front door; what they cost is `replay_oracle`'s.
DESIGN section 9: under the same window and recent region, for the ideal cache, in the first tier.
"""

from __future__ import annotations

from typing import Any

import compactor
from compactor.transcript import Transcript
from tests.replay_oracle import prefix
from tests.replay_requests import Sent, requests, shown, upto


def cheapest(recording: Transcript, policy: compactor.Policy, window: int, price: Any) -> int:
    """The least cost of all schedules of passes, with as few requests over the window as can be.

    Tries all of them: at each request a pass, or none. A pass is made by saying that the provider
    refused the request; where that frees nothing but in the aggressive tier, there is none to make.

    Args:
        policy: of a window so large that no pass is ever due.
        price: of cached and written tokens.
    """
    asked = requests(recording)

    def rest(k: int, journal: Any, earlier: list[Sent]) -> tuple[int, int]:
        """Requests over the window, and the cost, from request k on."""
        if k == len(asked):
            return 0, 0
        found = []
        for forced in (False, True):
            here = upto(recording, asked[k].n)
            out = compactor.compact(here, policy, journal, overflowed=forced)
            if out.report.tier != "elide" or (forced and not out.report.passes):
                continue
            now = Sent(shown(here.entries, out.journal), None, "", 0, 0)
            cached, written = prefix(earlier, now)
            over, cost = rest(k + 1, out.journal, [*earlier, now])
            found.append((over + (cached + written > window), cost + price(cached, written)))
        return min(found)

    return rest(0, None, [])[1]
