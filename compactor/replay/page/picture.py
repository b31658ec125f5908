"""The curves of a page as a PNG, by matplotlib (the extra `plot`).

For where a page cannot go: context size, cumulative cost, and cost against regret. Of several
recordings the curves are sums and the regret a mean. Specification: docs/report.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import accumulate, zip_longest
from typing import Any, Final

from compactor.replay.page.words import harmless
from compactor.replay.remote import package
from compactor.replay.sums import Replay

COLOURS: Final = ("#2762c6", "#c2500c", "#0e7c66", "#8640b4", "#b3264f", "#776800", "#0a7795")
"""As on the page; doing nothing is grey."""
_GREY: Final = "#767b82"
_NAME_CHARS: Final = 40


def plotting() -> Any:
    """matplotlib.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    return package("matplotlib.figure", "plot")


def picture(found: Sequence[tuple[str, Replay]]) -> bytes:
    """A PNG of replays with their rows.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    groups: dict[str, list[Replay]] = {}
    for _, made in found:
        groups.setdefault(made.policy, []).append(made)
    figure = plotting().Figure(figsize=(12, 7.2), layout="constrained")
    axes = figure.subplot_mosaic([["size", "size"], ["cost", "regret"]])
    colours = _colours(groups)
    for policy, group in groups.items():
        colour, name = colours[policy], _plain(policy)
        style = {"color": colour, "label": name, "linestyle": "--" if policy == "none" else "-"}
        sizes = list(_summed([[row.tokens_sent for row in made.rows] for made in group]))
        costs = _summed([[row.cost_nano for row in made.rows] for made in group])
        axes["size"].plot(range(1, len(sizes) + 1), sizes, **style)
        axes["cost"].plot(range(1, len(sizes) + 1), [c / 1e9 for c in accumulate(costs)], **style)
        regret = sum(made.regret for made in group) / len(group)
        cost = sum(made.cost_nano for made in group) / 1e9
        axes["regret"].scatter([cost], [100 * regret], color=colour, s=42, zorder=3, clip_on=False)
        axes["regret"].annotate(
            name, (cost, 100 * regret), xytext=(7, 4), textcoords="offset points",
            color=colour, parse_math=False,
        )  # fmt: skip
    _words(axes, len(found) // max(len(groups), 1))
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=144, metadata={"Software": None})
    return stream.getvalue()


def _words(axes: Any, recordings: int) -> None:
    over = f", sum of {recordings:,} recordings" if recordings > 1 else ""
    titles = {
        "size": (f"Context size{over}", "request", "tokens"),
        "cost": (f"Cumulative cost{over}", "request", "US dollars"),
        "regret": ("Cost against regret", "US dollars", "identifiers out of sight, %"),
    }
    for name, (title, x, y) in titles.items():
        axes[name].set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes[name].set_xlabel(x)
        axes[name].set_ylabel(y)
        axes[name].set_ylim(bottom=0)
        axes[name].grid(axis="y", color="#e2e0da", linewidth=0.8)
        axes[name].spines[["top", "right"]].set_visible(False)
    axes["regret"].margins(x=0.25, y=0.25)
    axes["regret"].autoscale_view()
    axes["regret"].set_xlim(left=0)
    axes["regret"].set_ylim(bottom=0)
    axes["size"].yaxis.set_major_formatter("{x:,.0f}")
    axes["size"].legend(frameon=False)


def _summed(rows: Sequence[Sequence[int]]) -> Iterator[int]:
    """The k-th requests of all recordings that have one."""
    return (sum(column) for column in zip_longest(*rows, fillvalue=0))


def _colours(policies: dict[str, list[Replay]]) -> dict[str, str]:
    others = [policy for policy in policies if policy != "none"]
    return {"none": _GREY} | {
        policy: COLOURS[index % len(COLOURS)] for index, policy in enumerate(others)
    }


def _plain(text: str) -> str:
    """A name without what a legend would read as a formula."""
    return harmless(text)[:_NAME_CHARS].replace("$", r"\$").removeprefix("_")
