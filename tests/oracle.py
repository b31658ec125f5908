"""A naive oracle of the pure pass, to be compared with the real one over random transcripts.

Written from DESIGN sections 3, 4, 5 and 11 alone and without `compactor`: everything is worked out
anew at every request with lists and loops, nothing is incremental, speed does not matter. Left out:
the file table, reasoning, `elideInputs`, edits, summaries, hygiene, and bodies
that a framework stored back as our marker. Where the text leaves something open, the line says
`OPEN`. `python -m tests.oracle SEED COUNT` counts what `generate` reaches.
"""

import sys
from collections.abc import Sequence
from typing import Any

from tests import oracle_priced
from tests.oracle_cases import generate, report
from tests.oracle_text import Entry, call_of, compact_json, listed, marker, merge

__all__ = ["generate", "run"]

IMAGE = 1568
EVIDENCE_TOOLS = ("grok_sink", "scan_sinks", "trace_callers", "record_finding")
HEX_ID = {"prefix": "ev_", "alphabet": "0123456789abcdef", "length": 8}

# OPEN: is a media allowance scaled like every other part? The formula makes no exception.
MEDIA_SCALED = True
# OPEN: may the first plan run where the aggressive one, made in its place, does not?
FIRST_PLAN_IF_SECOND_WAITS = False
# OPEN: does the overflow plan take the place of the regular one at n, or follow its pass?
OVERFLOW_FOLLOWS_REGULAR = False


def tokens(entry: Entry, scale: int) -> int:
    """4 + its parts, each counted in chars4 and rounded up on its own."""
    parts = [(len(text) + 3) // 4 for text in entry["texts"]]
    for call in entry["calls"]:
        parts.append((len(call["name"]) + 3) // 4)
        parts.append((len(compact_json(call["arguments"])) + 3) // 4)
    total = 4 + sum((count * scale + 999) // 1000 for count in parts)
    image = (IMAGE * scale + 999) // 1000 if MEDIA_SCALED else IMAGE
    images: int = entry.get("images", 0)
    return total + image * images


def settings(policy: dict[str, Any]) -> dict[str, Any]:
    """The policy with its defaults; raises ValueError where it is out of range."""
    window = policy["window"]
    reserve = policy.get("reserveTokens", window * 2 // 10)
    out = {
        "window": window,
        "reserve": reserve,
        "threshold": window - reserve,
        "keep": max(policy.get("keepRecent", 8), 1),
        "recent": policy.get("recentTokens", reserve),
        "budget": policy.get("evidenceBudgetTokens", reserve // 2),
        "min_gain": policy.get("minGain", 25),
        "min_freed": policy.get("minFreed", reserve // 10),
        "scale": policy.get("counterScale", 1000),
    }
    if out["threshold"] <= 0 or min(out.values()) < 0 or policy.get("keepRecent", 8) < 0:
        raise ValueError("policy.range")
    prices = oracle_priced.settings(policy, reserve)
    return out | {
        "prices": prices and prices | {"min_gain": out["min_gain"]},
        "evidence": policy.get("evidenceTools", EVIDENCE_TOOLS),
        "protected": policy.get("protectedTools", ()),
        "pins": policy.get("pins", ()),
        # OPEN: given kinds stand in place of `ev_`, as any other setting does
        "kinds": list(policy.get("artifactIds", [HEX_ID])),
        "on": policy.get("enabled", True) and policy.get("mode", "elide") == "elide",
    }


def facts(merged: list[Entry], p: dict[str, Any], failed: Sequence[str], recall: bool) -> list[Any]:
    """What the plan asks about each entry; none of it depends on later entries."""
    rows: list[Entry] = []
    for seq, entry in enumerate(merged):
        row: Entry = {"kind": entry["kind"], "full": tokens(entry, p["scale"])}
        rows.append(row)
        if entry["kind"] != "tool":
            row["elided"] = row["full"]
            continue
        call = call_of(merged, seq)
        row["name"] = call["name"] if call else "unknown"
        row["failed"] = bool(entry.get("error")) or entry["call"] in failed
        row["empty"] = not entry["texts"][0] and not entry.get("images", 0)
        row["pinned"] = seq in p["pins"]
        row["protected"] = listed(row["name"], p["protected"])
        row["evidence"] = row["failed"] or listed(row["name"], p["evidence"])
        forms = [marker(merged, seq, row, form, p["kinds"]) for form in (False, True)]
        row["marker"] = forms[recall]
        sizes = [tokens({"texts": [form], "calls": []}, p["scale"]) for form in forms]
        row["elided"] = sizes[recall]  # what is shown, and freed, follows `recallable`; …
        # OPEN: … the gain takes the larger form, which is the one without recall where the cap of
        # 400 chars cost the other one an id
        row["gain"] = row["full"] - max(sizes)
    return rows


def make_plan(
    rows: list[Any], n: int, tier: str, p: dict[str, Any], out: set[int], low: int
) -> dict[str, Any]:
    """One plan over entries 0..n-1, of which `out` are elided; `low` is the recorded cutoff."""
    keep, recent, budget = p["keep"], p["recent"], p["budget"]
    if tier == "aggressive":
        keep, recent, budget = min(keep, 2), recent // 2, budget // 2
    sizes = [row["elided" if seq in out else "full"] for seq, row in enumerate(rows[:n])]
    start = max(n - 1, 0)
    while start > 0 and n - start < keep and sum(sizes[start - 1 :]) <= recent:
        start -= 1
    # OPEN: without any assistant entry nothing is answered, so the region reaches back to 0
    answered = max([s for s in range(n) if rows[s]["kind"] == "assistant"], default=-1) + 1
    # OPEN: `low` is applied last, after the step back to the last assistant entry
    cutoff = max(min(start, answered), low)
    fates, spent = {}, 0
    open_ = [s for s in range(cutoff) if rows[s]["kind"] == "tool" and s not in out]
    for seq in open_:
        fates[seq] = early_fate(rows[seq])
    # The floor may be too small to elide: it is looked for before the gain is.
    floor = max([s for s in open_ if not fates[s] and rows[s]["evidence"]], default=None)
    for seq in open_:
        row = rows[seq]
        if fates[seq]:
            continue
        if seq == floor:
            fates[seq] = "kept:floor"
        elif row["evidence"] and spent + row["full"] <= budget:
            spent += row["full"]
            fates[seq] = "kept:budget"
        else:
            fates[seq] = "kept:no_gain" if row["gain"] < p["min_gain"] else "elided"
    elided = [seq for seq in open_ if fates[seq] == "elided"]
    after = [rows[s]["elided"] if s in elided else sizes[s] for s in range(n)]
    return {
        "tier": tier,
        "cutoff": cutoff,
        "fates": fates,
        "floor": floor,
        "elided": elided,
        "freed": sum(sizes) - sum(after),
        "sizes": after,
    }


def early_fate(row: Entry) -> str:
    """What is kept before evidence is looked at, or nothing."""
    # OPEN: the order is step 2's (pinned before protected); section 11 lists protected first
    # OPEN: the vocabulary has no word for an empty result; it has nothing to gain
    for fact, fate in (("empty", "no_gain"), ("pinned", "pinned"), ("protected", "protected")):
        if row[fact]:
            return "kept:" + fate
    return ""


def boundary(case: Entry, n: int) -> bool:
    """Entry n is an assistant entry and n > 0, or n is the end."""
    rows = case["rows"]
    return n == len(rows) or (n > 0 and rows[n]["kind"] == "assistant")


def gone(recorded: list[Any]) -> set[int]:
    """What the passes so far have elided."""
    return {seq for one in recorded for seq in one["elided"]}


def estimate(case: Entry, recorded: list[Any], n: int) -> int:
    """Overhead and the view's tokens of entries 0..n-1."""
    out = gone(recorded)
    sizes = [row["elided" if s in out else "full"] for s, row in enumerate(case["rows"])]
    return int(case["overhead"] + sum(sizes[:n]))


def decide(case: Entry, recorded: list[Any], n: int, forced: bool) -> tuple[str, Entry]:
    """One word of section 11, with the plan where it is `passed`; forced: `overflowed`."""
    p = case["p"]
    before = estimate(case, recorded, n)
    if not p["on"]:
        return "off", {}  # OPEN: `summarize` has no word of its own
    last: Entry = recorded[-1] if recorded else {"cutoff": 0, "tier": "elide"}
    now = (p, gone(recorded), last["cutoff"])
    if not forced and before <= p["threshold"]:
        return priced(case, recorded, n, now) if p["prices"] else ("below_threshold", {})
    tried = [make_plan(case["rows"], n, last["tier"], *now)]
    first = tried[0]["freed"]
    again = first <= 0 if forced else before - first > p["threshold"]
    # Not asked here: whether the first plan would be worth it, or the second elides any more.
    if again and last["tier"] == "elide":
        tried.append(make_plan(case["rows"], n, "aggressive", *now))
    if not FIRST_PLAN_IF_SECOND_WAITS:
        tried = tried[-1:]
    for plan in reversed(tried):
        if plan["freed"] > 0 and (forced or worth_it(p, before, plan["freed"])):
            return "passed", plan
    # OPEN: where the two plans would get different words, the second one gives it
    return ("waits:min_freed" if tried[-1]["freed"] > 0 else "nothing_to_free"), {}


def priced(case: Entry, recorded: list[Any], n: int, now: Any) -> tuple[str, Entry]:
    """The same, where the estimate is not above the threshold and passes have their price."""
    rows, last = case["rows"], recorded[-1] if recorded else {}
    tier = last.get("tier", "elide")

    def plan_at(bound: int) -> Entry | None:
        if estimate(case, recorded, bound) > case["p"]["threshold"]:
            return None
        return make_plan(rows, bound, tier, *now)

    bounds = [b for b in range(max(1, last.get("entries", 0) + 1), n) if boundary(case, b)] + [n]
    done = {"request": last.get("request", 0), "now": number(case, n)}
    why = oracle_priced.why(case["p"]["prices"], rows[:n], bounds, done, plan_at)
    return why, (make_plan(rows, n, tier, *now) if why == "passed" else {})


def number(case: Entry, n: int) -> int:
    """Of the request over n entries, from 1."""
    # OPEN: a call at an unanswered n that later is no boundary shares its number
    return 1 + sum(boundary(case, b) for b in range(1, n))


def worth_it(p: Entry, before: int, freed: int) -> bool:
    """Step 4."""
    line = p["window"] - p["reserve"] // 2
    return bool(freed >= p["min_freed"] or before > line >= before - freed)


def step(case: Entry, recorded: list[Any], n: int, forced: bool) -> str:
    """One request: its word; its pass, if any, goes to the end of `recorded`."""
    why, plan = decide(case, recorded, n, forced)
    if why != "passed":
        return why
    before, first = estimate(case, recorded, n), plan["elided"][0]
    crossed = "threshold" if before > case["p"]["threshold"] else "priced"
    kept = list(plan["fates"].values())
    recorded.append(
        {
            "request": number(case, n),
            "entries": n,
            "cutoff": plan["cutoff"],
            "tier": plan["tier"],
            # OPEN: the words; DESIGN names `threshold` and `priced` only
            "trigger": "overflow" if forced else crossed,
            "tokens_before": before,
            "tokens_after": before - plan["freed"],
            "elided": plan["elided"],
            # OPEN: evidence kept by no_gain, a pin or protection is not counted
            "protected_count": kept.count("kept:floor") + kept.count("kept:budget"),
            "floor": plan["floor"],
            "first_changed": first,
            # OPEN: not defined; taken as R of the priced rule, without overhead
            "reread_tokens": sum(plan["sizes"][first:]),
        }
    )
    return why


def run(
    entries: Sequence[Entry],
    policy: dict[str, Any],
    *,
    overhead: int = 0,
    recallable: bool = False,
    failed: Sequence[str] = (),
    overflowed: bool = False,
    passes: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The whole answer at n = len(entries): view, passes added by this call, numbers, fates.

    Args:
        entries: format-neutral entries as in CONFORMANCE.md, oldest first.
        policy: the config spelling; `counter` is taken to be chars4.
        overhead: tokens. OPEN: `overheadTokens` of the policy is not read beside it.
        recallable, failed, overflowed: as of `compact`; failed: call ids.
        passes: passes recorded by earlier calls, as returned here.
    """
    p, merged = settings(policy), merge(entries)
    case: Entry = {"p": p, "overhead": overhead, "rows": facts(merged, p, failed, recallable)}
    size, recorded = len(merged), list(passes)
    before = estimate(case, recorded, size)
    # OPEN: at an n whose pass is recorded nothing is decided again, and the word is `passed`
    done, why = (recorded[-1]["entries"] if recorded else -1), "passed"
    for n in range(done + 1, size + 1):
        if boundary(case, n) and (n < size or not overflowed or OVERFLOW_FOLLOWS_REGULAR):
            why = step(case, recorded, n, False)
    if overflowed:
        why = step(case, recorded, size, True)
    out, now = gone(recorded), estimate(case, recorded, size)
    last: Entry = recorded[-1] if recorded else {"cutoff": 0, "tier": "elide"}
    # OPEN: `overflowed` with nothing left to free is an overflow whatever the estimate
    stuck = overflowed and why == "nothing_to_free"
    return {
        "view": [shown(entry, case["rows"][s], s in out) for s, entry in enumerate(merged)],
        "passes": recorded[len(passes) :],
        "tokens_before": before,
        "tokens_after": now,
        "tier": last["tier"],
        "cutoff": last["cutoff"],  # OPEN: the recorded one; a plan that did not run leaves none
        "pressed": last["tier"] == "aggressive" and now > p["threshold"],
        "overflow": now > p["window"] or stuck,
        "why": why,
        "threshold": p["threshold"],
        "fates": fates_at_end(case["rows"], p, out, last["cutoff"], last["tier"]),
    }


def fates_at_end(
    rows: list[Any], p: dict[str, Any], out: set[int], cutoff: int, tier: str
) -> list[str]:
    """One fate an entry: below the recorded cutoff the plan's, then why it is not old yet."""
    budget = p["budget"] // 2 if tier == "aggressive" else p["budget"]
    # The plan of the last pass once more: the same cutoff, tier and evidence give the same fates.
    old = make_plan(rows, cutoff, "elide", p | {"budget": budget}, out, cutoff)["fates"]
    assert "elided" not in old.values(), "passes of another policy"
    answered = max([s for s, row in enumerate(rows) if row["kind"] == "assistant"], default=-1)
    fates = []
    for seq, row in enumerate(rows):
        if row["kind"] != "tool":
            fates.append("kept:not_result")  # OPEN: wherever it stands, recent region included
        elif seq in out:
            fates.append("elided")
        elif seq < cutoff:
            fates.append(old[seq])
        else:
            # OPEN: pins, protection, emptiness are not looked at from the cutoff on; what follows
            # the last assistant entry is `unanswered` even where keepRecent covers it
            fates.append("kept:unanswered" if seq > answered else "kept:recent")
    return fates


def shown(entry: Entry, row: Entry, elided: bool) -> Entry:
    """An entry of the view; `error` and `images` only where they say something."""
    if entry["kind"] == "assistant":
        # OPEN: the texts of joined entries follow each other without a separator
        return {"kind": "assistant", "text": "".join(entry["texts"]), "calls": entry["calls"]}
    out: Entry = {"kind": entry["kind"], "text": row["marker"] if elided else entry["texts"][0]}
    if entry["kind"] == "tool":
        out["call"] = entry["call"]
        if entry.get("error"):  # the native flag only, not the caller's `failed`
            out["error"] = True
    if entry.get("images", 0) and not elided:
        out["images"] = entry["images"]
    return out


if __name__ == "__main__":
    report(run, int(sys.argv[1]), int(sys.argv[2]))
