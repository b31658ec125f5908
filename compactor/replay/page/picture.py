"""The curves of a page as a PNG, by matplotlib (the extra `plot`).

For where a page cannot go: context size, cumulative cost, and cost against regret. Of several
recordings sizes and regret are means and costs are sums. Specification: docs/report.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import accumulate, zip_longest
from typing import Any, Final

from compactor.replay.page.words import one_line
from compactor.replay.remote import package
from compactor.replay.sums import Replay, by_policy, summed

COLOURS: Final = ("#0d58ef", "#b04e09", "#024f2c", "#88189e")
"""As on the page, to be told apart by all eyes; the fifth policy has the first again, dashed."""
_GREY: Final = "#6c7178"
_MARKERS: Final = "osD^"
_NAME_CHARS: Final = 40
_LEGEND_COLUMNS: Final = 4


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
    groups = by_policy(made for _, made in found)
    figure = plotting().Figure(figsize=(12, 7.6), layout="constrained")
    axes = figure.subplot_mosaic([["size", "size"], ["cost", "regret"]])
    for (policy, group), style in zip(groups.items(), _styles(groups), strict=True):
        total, marker = summed(group), style.pop("marker")
        sizes = list(_means([[row.tokens_sent for row in made.rows] for made in group]))
        costs = _sums([[row.cost_nano for row in made.rows] for made in group])
        requests = range(1, len(sizes) + 1)
        curve = {**style, "marker": marker, "markevery": [-1], "clip_on": False}
        axes["size"].plot(requests, sizes, label=_plain(policy), **curve)
        axes["cost"].plot(requests, [cost / 1e9 for cost in accumulate(costs)], **curve)
        axes["regret"].plot(
            total.cost_nano / 1e9, 100 * total.regret, marker, color=style["color"],
            markersize=7, clip_on=False,
        )  # fmt: skip
    _words(axes, max(map(len, groups.values()), default=0))
    if groups:
        figure.legend(loc="outside upper left", ncols=_LEGEND_COLUMNS, frameon=False)
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=144, metadata={"Software": None})
    return stream.getvalue()


def _styles(policies: Sequence[str] | dict[str, Any]) -> Iterator[dict[str, str]]:
    """Nothing done is grey; the others differ by colour and marker, then also by their lines."""
    number = 0
    for policy in policies:
        if policy == "none":
            yield {"color": _GREY, "linestyle": ":", "marker": "X"}
            continue
        row, column = divmod(number, len(COLOURS))
        number += 1
        yield {
            "color": COLOURS[column],
            "linestyle": ("-", "--", "-.")[row % 3],
            "marker": _MARKERS[(column + row) % len(_MARKERS)],
        }


def _words(axes: Any, recordings: int) -> None:
    mean = ", mean of the recordings that have so many requests" if recordings > 1 else ""
    over = f", sum of {recordings:,} recordings" if recordings > 1 else ""
    titles = {
        "size": (f"Context size{mean}", "request", "tokens"),
        "cost": (f"Cumulative cost{over}", "request", "US dollars"),
        "regret": (f"Cost against regret{over}", "US dollars", "identifiers out of sight, %"),
    }
    for name, (title, x, y) in titles.items():
        axes[name].set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes[name].set_xlabel(x)
        axes[name].set_ylabel(y)
        axes[name].grid(axis="y", color="#e2e0da", linewidth=0.8)
        axes[name].spines[["top", "right"]].set_visible(False)
        axes[name].set_ylim(bottom=0)
    for name in ("size", "cost"):
        axes[name].set_xlim(1, max(2, axes[name].dataLim.x1))
        axes[name].xaxis.get_major_locator().set_params(integer=True)
    axes["size"].yaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    low, high = axes["regret"].get_ylim()
    axes["regret"].set_ylim(low, max(high, 1))


def _sums(rows: Sequence[Sequence[int]]) -> Iterator[int]:
    """Over the k-th requests of all recordings that have one."""
    return (sum(column) for column in zip_longest(*rows, fillvalue=0))


def _means(rows: Sequence[Sequence[int]]) -> Iterator[float]:
    lengths = sorted(map(len, rows))
    for number, total in enumerate(_sums(rows)):
        while lengths[0] <= number:
            lengths.pop(0)
        yield total / len(lengths)


def _plain(text: str) -> str:
    """A name without what a legend would read as a formula."""
    return one_line(text, _NAME_CHARS).replace("$", r"\$").lstrip("_")
