"""The priced trigger of the oracle: when a pass below the threshold is made for what it saves.

Written from DESIGN section 5 (with a patience) and docs/policy.md, Priced passes (without one), and
without `compactor`: at every request everything is worked out anew.
"""

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
PlanAt = Callable[[int], dict[str, Any] | None]
"""The plan at a boundary under the passes so far; None where the estimate is over the threshold."""


def settings(policy: Row, reserve: int) -> Row:
    """What the trigger goes by; nothing where passes wait for the threshold."""
    if policy.get("trigger") != "priced":
        return {}
    divisor = 40 if "patience" not in policy else 10
    return {
        "read": policy.get("read", 100),
        "write": policy.get("write", 1250),
        "patience": policy.get("patience"),
        "least": policy.get("minFreed", reserve // divisor),
    }


def why(prices: Row, rows: list[Row], bounds: list[int], done: Row, plan_at: PlanAt) -> str:
    """One word for the request over `rows`; `passed` where the plan is worth it.

    bounds: where requests were made since the last pass, this one last.
    done: the last pass, with `request`; the number of this one is `done["now"]`.
    """
    n = bounds[-1]
    plan = plan_at(n)
    assert plan is not None
    if plan["freed"] <= 0:
        return "below_threshold"
    if plan["freed"] < prices["least"]:
        return "waits:min_freed"
    if prices["patience"] is None:
        return looks_ahead(prices, rows, n, done["now"] - done["request"], plan)
    carry = 0
    for bound in bounds:
        then = plan_at(bound)
        if then is not None and then["freed"] > 0 and then["freed"] >= prices["least"]:
            carry += prices["read"] * then["freed"]
    cost = (prices["write"] - prices["read"]) * sum(plan["sizes"][plan["elided"][0] :])
    return "passed" if carry * 1000 >= prices["patience"] * cost else "waits:carry"


def looks_ahead(prices: Row, rows: list[Row], n: int, since: int, plan: Row) -> str:
    """Worth it within 10 + 2 * since requests, and not cheaper at one that can be foreseen."""
    turns = [s for s in range(n) if rows[s]["kind"] == "assistant"]
    first, known = plan["elided"][0], turns[-1] if turns else 0
    dearer, read = prices["write"] - prices["read"], prices["read"] * plan["freed"]
    rest = sum(plan["sizes"][first:])
    price = dearer * sum(plan["sizes"][first:known])
    if (10 + 2 * since) * read < price:
        return "waits:price"
    ends = [s for s in turns if s > plan["cutoff"]] + [n]
    for later, end in enumerate(ends, 1):
        gain = sum(could_go(row, prices) for row in rows[plan["cutoff"] : end])
        if 1000 * dearer * (rest - gain) + 667 * later * read < 1000 * price:
            return "waits:later"
    return "passed"


def could_go(row: Row, prices: Row) -> int:
    """What a result frees once it is old; evidence is not foreseen."""
    keeps = row["kind"] != "tool" or row["evidence"] or row["empty"]
    if keeps or row["pinned"] or row["protected"] or row["gain"] < prices["min_gain"]:
        return 0
    return int(row["gain"])
