"""One sentence for what a call did, from the numbers of its report. Shared by all commands."""

from __future__ import annotations

from compactor.core.report import WHYS, Report

OTHERS = ("other file is", "other files are")
"""What was found in folders and is no transcript."""

_NUMBERS = {
    "below_threshold": "{tokens_after:,} of {threshold:,} tokens",
    "waits:min_freed": "{tokens_after:,} of {threshold:,} tokens; a pass must free {min_freed:,}",
    "nothing_to_free": "{tokens_after:,} of {threshold:,} tokens, {fixed_tokens:,} of them fixed",
    "off": "{tokens_after:,} of {threshold:,} tokens",
    "passed": "{tokens_before:,} -> {tokens_after:,} tokens",
}
"""Why → the numbers that show it."""


def why(report: Report) -> str:
    """Why the last request was compacted or not, with the numbers."""
    numbers = _NUMBERS.get(report.why, _NUMBERS["below_threshold"])
    sentence = WHYS.get(report.why, report.why)
    return f"{sentence} ({numbers.format(**_fields(report))}){_not_yet(report)}"


def _not_yet(report: Report) -> str:
    """Why what later passes could free is not free now."""
    if report.why != "nothing_to_free" or report.elidable_tokens <= 0:
        return ""
    return (
        f"; {report.elidable_tokens:,} more could go later: what holds them is in the recent "
        "region, not answered yet, or evidence that is kept"
    )


def summary(report: Report, standing: int) -> str:
    """What a call did, in one line.

    Args:
        standing: results elided now, by earlier calls too.
    """
    if not report.passes:
        earlier = f"; {counted(standing, 'result stays', 'results stay')} elided"
        return f"unchanged: {why(report)}{earlier if standing else ''}"
    elided = sum(len(made["elided"]) for made in report.passes)
    return (
        f"compacted: {report.tokens_before:,} -> {report.tokens_after:,} tokens in "
        f"{counted(len(report.passes), 'pass', 'passes')}, "
        f"{counted(elided, 'result', 'results')} elided "
        f"(threshold {report.threshold:,} of {report.window:,})"
    )


def pressure(report: Report) -> str:
    """What is wrong with the size that is left; "" when nothing is."""
    left = f"{report.fixed_tokens:,} are fixed, {report.elidable_tokens:,} could still go"
    over = report.tokens_after - report.window
    if over > 0:
        return f"overflow: {report.tokens_after:,} tokens, {over:,} over the window ({left})"
    if report.overflow:
        return f"overflow: nothing could be freed of the {report.tokens_after:,} tokens ({left})"
    if report.pressed:
        return f"pressed: {report.tokens_after:,} tokens are still over the threshold ({left})"
    return ""


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _fields(report: Report) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__struct_fields__}
