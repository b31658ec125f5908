"""The oracle against numbers worked out by hand, and against the laws that its passes must obey.

All counts are chars4: an entry is 4 + ceil(chars / 4) per part, so `go` is 5, an assistant entry
with one call of `bash` and arguments `{}` is 4 + 1 + 1 = 6, of `scan_sinks` 4 + 3 + 1 = 8, and a
result of 4k chars is k + 4. The marker of a `bash` result is 33 chars with a three-digit N and 34
with four (9 tokens, entry 13), 48 and 49 with ` — recall seq=2` (12 and 13 tokens, entries 16 and
17); of `scan_sinks` 39 and 40 (10, entry 14), with recall 54 and 55 (14, entry 18).
"""

import random
from typing import Any

import pytest

from tests.oracle import generate, run, tokens
from tests.oracle_text import artifact_ids, compact_json, marker, merge, reference

Entry = dict[str, Any]

WINDOW = {"window": 1000, "counter": "chars4"}  # reserve 200, threshold 800, L 900, minFreed 20
HEX = {"prefix": "ev_", "alphabet": "0123456789abcdef", "length": 8}


def user(text: str) -> Entry:
    return {"kind": "user", "text": text}


def says(size: int, *names: str, ids: str = "") -> Entry:
    """An assistant entry of `size` text tokens that calls `names`; ids c<n> unless given."""
    calls = [{"id": ids or name, "name": name, "arguments": "{}"} for name in names]
    return {"kind": "assistant", "text": "a" * 4 * size, "calls": calls}


def result(call: str, chars: int, **more: Any) -> Entry:
    return {"kind": "tool", "call": call, "text": "x" * chars, **more}


def chain(*parts: tuple[str, int] | Entry) -> list[Entry]:
    """`go`, then a call and its result of so many chars each, or an entry as it is.

    The first call is entry 1 with the id `c1` and its result entry 2, the second 3 with `c3`, ….
    """
    entries = [user("go")]
    for part in parts:
        if isinstance(part, dict):
            entries.append(part)
            continue
        ident = f"c{len(entries)}"
        entries += [says(0, part[0], ids=ident), result(ident, part[1])]
    return entries


def pick(answer: dict[str, Any], *keys: str) -> list[Any]:
    return [answer[key] for key in keys]


def test_the_worked_example_of_the_conformance_page() -> None:
    entries = chain(
        ("bash", 3600), {"kind": "assistant", "text": "next", "calls": []}, user("more")
    )
    answer = run(entries, WINDOW | {"keepRecent": 2}, recallable=True)
    # 5 + 6 + 904 + 5 + 5 = 925 > 800; after 925 - 904 + 17 = 38; boundaries 1, 3, 5; at 3 (915) the
    # result is the last entry. Reread: 17 + 5 + 5.
    assert answer == {
        "view": [
            *entries[:2],
            {
                "kind": "tool",
                "call": "c1",
                "text": "[elided 3600 chars of bash output — recall seq=2]",
            },
            *entries[3:],
        ],
        "passes": [
            {
                "request": 3,
                "entries": 5,
                "cutoff": 3,
                "tier": "elide",
                "trigger": "threshold",
                "tokens_before": 925,
                "tokens_after": 38,
                "elided": [2],
                "protected_count": 0,
                "floor": None,
                "first_changed": 2,
                "reread_tokens": 27,
            }
        ],
        "tokens_before": 925,
        "tokens_after": 38,
        "tier": "elide",
        "cutoff": 3,
        "pressed": False,
        "overflow": False,
        "why": "passed",
        "threshold": 800,
        "fates": ["kept:not_result", "kept:not_result", "elided", *["kept:not_result"] * 2],
    }


@pytest.mark.parametrize(("overhead", "why"), [(0, "below_threshold"), (1, "passed")])
def test_an_estimate_at_the_threshold_does_not_cross(overhead: int, why: str) -> None:
    # 5 + 6 + (775 + 4) + 5 + 5 = 800
    entries = chain(("bash", 3100), says(1), user("more"))
    answer = run(entries, WINDOW | {"keepRecent": 2}, overhead=overhead)
    assert pick(answer, "tokens_before", "why") == [800 + overhead, why]


@pytest.mark.parametrize(
    ("recent", "cutoff", "elided", "after"), [(147, 5, [2, 4], 87), (148, 4, [2], 178)]
)
def test_the_recent_region_stops_before_the_entry_that_exceeds_its_tokens(
    recent: int, cutoff: int, elided: list[int], after: int
) -> None:
    # 5 + 6 + 664 + 6 + 104 = 785 at 5; + 44 = 829 at 6. The last two are 148, the next adds 6.
    # Both elided: 829 - 664 - 104 + 13 + 13 = 87; one: 829 - 664 + 13 = 178.
    entries = chain(("bash", 2640), ("bash", 400), says(40))
    answer = run(entries, WINDOW | {"recentTokens": recent})
    assert pick(answer["passes"][0], "request", "cutoff", "elided", "tokens_after") == [
        *(4, cutoff, elided, after)
    ]


def test_parallel_results_that_nobody_answered_are_recent_however_many() -> None:
    # 5 + (4 + 3 * 2) + 3 * 304 = 927 > 800, but the last assistant entry is 1.
    calls = says(0, "bash", "bash", "bash")
    entries = [user("go"), calls, *[result("bash", 1200) for _ in range(3)]]
    answer = run(entries, WINDOW | {"keepRecent": 1})
    assert pick(answer, "tokens_after", "why", "tier", "cutoff") == [
        *(927, "nothing_to_free", "elide", 0)
    ]
    assert answer["fates"] == ["kept:not_result"] * 2 + ["kept:unanswered"] * 3


def test_without_any_assistant_entry_everything_is_recent() -> None:
    entries = [user("go"), result("nobody", 4000), user("more")]
    answer = run(entries, WINDOW | {"keepRecent": 1})
    assert pick(answer, "why", "overflow", "fates") == [
        *("nothing_to_free", True, ["kept:not_result", "kept:unanswered", "kept:not_result"])
    ]


EVIDENCE = chain(  # at 11: 5 + 8+64 + 8+54 + 8+34 + 8+204 + 6+394 = 793; at 12: 805
    *(("scan_sinks", 240), ("scan_sinks", 200), ("scan_sinks", 120), ("scan_sinks", 800)),
    *(("bash", 1560), says(8)),
)


def test_evidence_is_charged_oldest_first_and_a_later_smaller_one_still_fits() -> None:
    answer = run(EVIDENCE, WINDOW | {"keepRecent": 1})
    # Budget 100: 64; 64 + 54 no (gain 54 - 18 = 36); 64 + 34 = 98; floor. 805 - 40 - 381 = 384.
    only = answer["passes"][0]
    assert pick(only, "elided", "floor", "protected_count", "tokens_before", "tokens_after") == [
        *([4, 10], 8, 3, 805, 384)
    ]
    assert answer["fates"][2::2] == [
        *("kept:budget", "elided", "kept:budget", "kept:floor", "elided")
    ]


def test_a_budget_of_zero_keeps_the_floor_and_what_is_too_small_to_elide() -> None:
    answer = run(EVIDENCE, WINDOW | {"keepRecent": 1, "evidenceBudgetTokens": 0})
    # 120 chars: 34 - 18 = 16 < 25. 805 - (64 - 14) - (54 - 14) - (394 - 13) = 334.
    assert pick(answer["passes"][0], "elided", "protected_count", "tokens_after") == [
        *([2, 4, 10], 1, 334)
    ]
    assert answer["fates"][2::2] == ["elided", "elided", "kept:no_gain", "kept:floor", "elided"]


def test_small_evidence_is_charged_if_it_fits_and_may_be_the_floor() -> None:
    # Budget 30: 24 fits, 24 + 14 does not (no gain), 204 does not, the newest, 14, is the floor.
    # 5 + 8+24 + 8+14 + 8+204 + 8+14 = 293; + 4 + 540 = 837; - 204 + 14 = 647.
    parts = [("scan_sinks", chars) for chars in (80, 40, 800, 40)]
    answer = run(chain(*parts, says(540)), WINDOW | {"keepRecent": 1, "evidenceBudgetTokens": 30})
    assert pick(answer, "tokens_before", "tokens_after") == [837, 647]
    assert answer["fates"][2:9:2] == ["kept:budget", "kept:no_gain", "elided", "kept:floor"]


def test_the_floor_moves_and_the_old_one_is_elided() -> None:
    entries = chain(*[("scan_sinks", 1600)] * 3, says(1))
    answer = run(entries, WINDOW | {"keepRecent": 1, "evidenceBudgetTokens": 0})
    # At 5 (829) entry 2 is the only evidence below 4: the floor. At 7: 1241 - 404 + 14 = 851 > 800:
    # made again, the same set, and it runs: aggressive. At 8: 856 - 404 + 14 = 466.
    keys = ("entries", "tier", "cutoff", "elided", "floor", "tokens_before", "tokens_after")
    assert [pick(one, *keys) for one in answer["passes"]] == [
        [7, "aggressive", 6, [2], 4, 1241, 851],
        [8, "aggressive", 7, [4], 6, 856, 466],
    ]
    assert pick(answer, "tokens_before", "tokens_after", "pressed") == [1246, 466, False]


@pytest.mark.parametrize(
    ("size", "why", "tier", "pressed", "overflow"),
    [
        (731, "waits:min_freed", "elide", False, False),  # 850, and 759 after: not above L
        (861, "passed", "aggressive", True, False),  # 980, and 889 after: to L, over 800
        (872, "passed", "aggressive", True, False),  # 991, and 900 after: L itself
        (873, "waits:min_freed", "elide", False, False),  # 992, and 901 after
        (886, "waits:min_freed", "elide", False, True),  # 1005
    ],
)
def test_a_plan_under_min_freed_runs_only_where_it_brings_the_estimate_to_l(
    size: int, why: str, tier: str, pressed: bool, overflow: bool
) -> None:
    # 5 + 6 + 104 + 4 + size; freed 104 - 13 = 91 < 500
    answer = run(chain(("bash", 400), says(size)), WINDOW | {"keepRecent": 1, "minFreed": 500})
    assert pick(answer, "tokens_before", "why", "tier", "pressed", "overflow") == [
        *(119 + size, why, tier, pressed, overflow)
    ]


@pytest.mark.parametrize(("chars", "why"), [(144, "nothing_to_free"), (145, "passed")])
def test_an_elision_gains_at_least_min_gain_over_the_marker_with_recall(
    chars: int, why: str
) -> None:
    # 145 chars: 37 + 4 - 16 = 25; 144: 24. The estimate is 5 + 6 + 40 or 41 + 760.
    answer = run(chain(("bash", chars), says(756)), WINDOW | {"keepRecent": 1})
    assert answer["why"] == why


def test_failed_protected_and_pinned_results() -> None:
    # 5 + 6 * (6 + 104) + 150 = 815. Budget 0: the failed ones go, "…of failed bash…" is 40 chars,
    # 14 tokens; entry 10 is plain: 815 - 90 - 90 - 91 = 544. The newest failed one is the floor.
    parts = [(name, 400) for name in ("bash", "bash", "note", "bash", "bash", "bash")]
    entries = chain(*parts, says(146))
    entries[2]["error"] = entries[12]["error"] = True
    policy = {"keepRecent": 1, "evidenceBudgetTokens": 0, "protectedTools": ["note"], "pins": [8]}
    answer = run(entries, WINDOW | policy, failed=["c3"])
    assert pick(answer, "tokens_before", "tokens_after") == [815, 544]
    fates = ["elided", "elided", "kept:protected", "kept:pinned", "elided", "kept:floor"]
    assert answer["fates"][2:13:2] == fates
    assert [answer["view"][seq] for seq in (2, 4)] == [
        {
            "kind": "tool",
            "call": "c1",
            "text": "[elided 400 chars of failed bash output]",
            "error": True,
        },
        {"kind": "tool", "call": "c3", "text": "[elided 400 chars of failed bash output]"},
    ]


def test_an_image_result_without_text_is_a_candidate_and_an_empty_one_is_not() -> None:
    # 5 + 6 + (4 + 2 * 1568) + 6 + 4 + 60 = 3221 > 3200; the marker has 44 chars: 15. 3221 - 3125.
    entries = chain(("bash", 0), ("scan_sinks", 0), says(56))
    entries[2]["images"] = 2
    entries[4]["error"] = True
    entries[3]["calls"][0]["name"] = "bash"
    answer = run(entries, WINDOW | {"window": 4000, "keepRecent": 1})
    assert pick(answer, "tokens_before", "tokens_after") == [3221, 96]
    assert answer["view"][2]["text"] == "[elided 0 chars and 2 images of bash output]"
    assert answer["fates"] == [
        *("kept:not_result", "kept:not_result", "elided", "kept:not_result", "kept:no_gain"),
        "kept:not_result",
    ]
    assert answer["passes"][0]["floor"] is None


def test_adjacent_assistant_entries_are_one_entry_and_their_parts_stay_apart() -> None:
    first = {"kind": "assistant", "text": "hello", "calls": []}
    entries = [user("go"), first, dict(first), user("more")]
    answer = run(entries, WINDOW)
    # 5 + (4 + 2 + 2) + 5; ten chars in one part would be 3
    assert answer["tokens_before"] == 18
    assert answer["view"][1] == {"kind": "assistant", "text": "hellohello", "calls": []}


def test_a_scale_rounds_each_part_up() -> None:
    # 2 * 1.5 = 3; 1 * 1.5 -> 2; arguments `{}` -> 2; 1568 * 1.5 = 2352
    entry: Entry = {
        "texts": ["hello"],
        "calls": [{"name": "bash", "arguments": "{ }"}],
        "images": 1,
    }
    assert tokens(entry, 1500) == 4 + 3 + 2 + 2 + 2352
    assert tokens(entry, 1000) == 4 + 2 + 1 + 1 + 1568
    assert tokens(entry, 1) == 4 + 1 + 1 + 1 + 2


def test_the_aggressive_plan_is_made_when_the_first_one_leaves_too_much() -> None:
    # At 5: 5 + 6 + 404 + 6 + 404 = 825, all within keepRecent. Aggressive: 2 entries, 1000 tokens,
    # so the cutoff is 3: 825 - 404 + 13 = 434. At the end 434 + 5 + 5.
    policy = WINDOW | {"keepRecent": 5, "recentTokens": 2000}
    answer = run(chain(("bash", 1600), ("bash", 1600), says(1), user("more")), policy)
    assert [pick(one, "request", "tier", "cutoff", "elided") for one in answer["passes"]] == [
        [3, "aggressive", 3, [2]]
    ]
    assert pick(answer, "tokens_after", "why", "tier", "pressed") == [
        *(444, "below_threshold", "aggressive", False)
    ]
    assert answer["fates"][4] == "kept:recent"


def test_the_aggressive_plan_halves_the_recent_tokens() -> None:
    # 5 + 6 + 404 + 6 + 304 = 725, + 100 = 825. The last two are 404 tokens: cutoff 4, and entry 2
    # is pinned. Aggressive: 202, cutoff 5: 825 - 304 + 13 = 534.
    policy = {"keepRecent": 2, "recentTokens": 404, "pins": [2]}
    answer = run(chain(("bash", 1600), ("bash", 1200), says(96)), WINDOW | policy)
    assert [pick(one, "tier", "cutoff", "elided") for one in answer["passes"]] == [
        ["aggressive", 5, [4]]
    ]
    assert pick(answer, "tokens_before", "tokens_after") == [825, 534]


def test_a_tier_change_elides_evidence_that_earlier_passes_kept() -> None:
    entries = chain(("scan_sinks", 320), ("scan_sinks", 80), ("bash", 2400))
    entries += [says(66, "bash", ids="c7"), result("c7", 800)]
    entries += [says(594, "bash", ids="c9"), result("c9", 160), says(1)]
    answer = run(entries, WINDOW | {"keepRecent": 1})
    # At 9: 5+8+84+8+24+6+604 = 739, + 72 + 204 = 1015; 604 -> 13: 424 (84 is within 100, 4 floor).
    # At 11: 424 + 600 + 44 = 1068; 204 -> 13 leaves 877 > 800; aggressive: 84 > 50 -> 14: 807.
    # At 12: 812; 160 chars, seq=10: 44 - 17 = 27 >= 25, freed 44 - 13 = 31 >= 20: 781.
    # Reread at 11: 807 - 5 - 8.
    keys = ("entries", "tier", "elided", "protected_count", "tokens_before", "tokens_after")
    assert [pick(one, *keys, "reread_tokens") for one in answer["passes"]] == [
        [9, "elide", [6], 2, 1015, 424, 424 - 5 - 8 - 84 - 8 - 24 - 6],
        [11, "aggressive", [2, 8], 1, 1068, 807, 794],
        [12, "aggressive", [10], 1, 812, 781, 13 + 5],
    ]


def test_an_aggressive_plan_that_waits_lets_no_other_plan_run() -> None:
    # First: 60 charged, 60 + 48 > 100 elided: frees 34, leaves 846 > 800. Aggressive, budget 50: 60
    # elided for a marker with 8 ids (170 chars: 47), 48 charged: frees 13 < 20, and 880 <= L.
    entries = chain(("scan_sinks", 224), ("scan_sinks", 176), ("scan_sinks", 80), says(715))
    entries[2]["text"] = "".join(f"ev_0000000{n} " for n in range(8)) + "x" * 128
    answer = run(entries, WINDOW | {"keepRecent": 1, "minGain": 0})
    assert pick(answer, "tokens_after", "why", "tier") == [880, "waits:min_freed", "elide"]


def test_a_refused_request_is_planned_without_threshold_and_then_aggressively() -> None:
    # 125 tokens all lie in the recent region (200); aggressive: 2 entries, cutoff 3, 104 -> 13.
    entries = chain(("bash", 400), says(1), user("more"))
    answer = run(entries, WINDOW | {"minFreed": 1000}, overflowed=True)
    assert [pick(one, "trigger", "tier", "elided", "tokens_after") for one in answer["passes"]] == [
        ["overflow", "aggressive", [2], 34]
    ]
    assert pick(answer, "why", "overflow", "pressed") == ["passed", False, False]


def test_a_refused_request_with_nothing_to_free_is_an_overflow() -> None:
    answer = run([user("go"), says(1)], WINDOW, overflowed=True)
    assert pick(answer, "why", "overflow", "tier") == ["nothing_to_free", True, "elide"]


@pytest.mark.parametrize("switch", [{"enabled": False}, {"mode": "summarize"}])
def test_a_compactor_that_is_off_changes_nothing(switch: dict[str, Any]) -> None:
    answer = run(EVIDENCE, WINDOW | switch, overflowed=True)
    assert pick(answer, "view", "passes", "why", "tokens_after") == [EVIDENCE, [], "off", 805]


def test_tool_names_match_exactly_or_after_the_last_double_underscore() -> None:
    # 5 + 10+204 + 9+204 + 8+204 + 8 + 160 = 812 (18 chars are 5 tokens, 13 are 4): the floor is 6,
    # 2 is over the budget, 4 is no evidence.
    parts = [(name, 800) for name in ("mcp__x__scan_sinks", "scan_sinks__x", "scan_sinks")]
    answer = run(chain(*parts, says(164)), WINDOW | {"keepRecent": 1})
    assert answer["tokens_before"] == 812
    assert answer["fates"][2:7:2] == ["elided", "elided", "kept:floor"]
    answer = run(chain(*parts, says(164)), WINDOW | {"keepRecent": 1, "evidenceBudgetTokens": 204})
    assert answer["fates"][2:7:2] == ["kept:budget", "elided", "kept:floor"]


def test_a_result_takes_its_name_from_the_last_call_of_its_id_before_it() -> None:
    entries = [says(0, "first", ids="c"), result("c", 4), result("d", 4000), user("go")]
    entries += [says(0, "wé i!rd", ids="c"), says(0, "late", ids="d"), result("c", 4000), says(1)]
    answer = run(entries, WINDOW | {"keepRecent": 1})
    assert [entry["text"] for entry in answer["view"] if entry["kind"] == "tool"] == [
        *("xxxx", "[elided 4000 chars of unknown output]", "[elided 4000 chars of wird output]")
    ]


def test_artifact_ids_have_no_neighbours_and_the_first_eight_distinct_count() -> None:
    body = (
        "ev_00000001 ev_00000001 xev_00000002 ev_00000003_ ev_00000004a (ev_00000005)éev_00000006é"
    )
    assert artifact_ids(body, [HEX]) == ["ev_00000001", "ev_00000005", "ev_00000006"]
    many = ",".join(f"ev_{n:08d}" for n in (3, 1, 2, 3, 9, 8, 7, 6, 5, 4))
    assert artifact_ids(many, [HEX]) == [f"ev_0000000{n}" for n in (3, 1, 2, 9, 8, 7, 6, 5)]


def test_of_several_kinds_the_first_that_fits_wins_at_each_position() -> None:
    two = {"prefix": "j-", "alphabet": "0123456789", "length": 2}
    loose = {"prefix": "j-", "alphabet": "0123456789-j", "length": 5}
    assert artifact_ids("j-12-j- j-34", [two, loose]) == ["j-12", "j-34"]
    assert artifact_ids("j-12-j- j-34", [loose, two]) == ["j-12-j-", "j-34"]
    assert artifact_ids("j-12-j-34", [loose | {"length": 7}, two]) == ["j-12-j-34"]
    # `j-12-j-` has a bad neighbour, so it is no match and the next kind is asked.
    assert artifact_ids("j-12-j-34", [loose, two]) == ["j-12", "j-34"]


def test_ids_fall_from_the_end_until_marker_and_ids_have_400_chars() -> None:
    # 34 + 28 + 54k + 2(k - 1) + 1: k = 6 gives 397; with recall 49 instead of 34: k = 5 gives 356
    kind = {"prefix": "job-", "alphabet": "0123456789", "length": 50}
    ids = [f"job-{n:050d}" for n in range(7)]
    merged = merge(chain(("bash", 0)))
    merged[2]["texts"] = [(" ".join(ids)).ljust(1000)]
    cases = (("bash", False, 6, 397), ("b" * 7, False, 6, 400), ("b" * 8, False, 5, 345))
    for name, recall, kept, size in (*cases, ("bash", True, 5, 356)):
        row = {"name": name, "failed": False}
        text = marker(merged, 2, row, recall, [kind])
        assert (text.count("job-"), len(text)) == (kept, size)
        assert text.endswith("[ artifact ids cited in it: " + ", ".join(ids[:kept]) + "]")


@pytest.mark.parametrize(
    ("arguments", "ref"),
    [
        ('{"seq": 2}', "seq=2"),
        ('{"seq": 4}', "seq=2"),  # entry 4 is itself a recall of 2
        ('{"seq": 0, "query": "x"}', "seq=0"),
        ('{"seq": 6}', "seq=6"),
        ('{"seq": 61}', "seq=61"),  # of a store that holds more than the request
        (f'{{"seq": 1{"0" * 18}}}', "seq=6"),
        ('{"seq": -1, "id": "12"}', "#0012"),
        ('{"seq": -1}', "seq=6"),
        ('{"seq": true}', "seq=6"),
        ('{"seq": 2.0, "id": "0Ab"}', "#00ab"),
        ('{"id": "#12"}', "#0012"),
        ('{"id": "00000012"}', "#0012"),
        ('{"id": "123456789"}', "seq=6"),
        ('{"id": "12\\n"}', "seq=6"),
        ('{"query": "extract"}', "seq=6"),
        ("[2]", "seq=6"),
        ("seq=2", "seq=6"),
    ],
)
def test_a_recalled_result_refers_to_what_it_recalled(arguments: str, ref: str) -> None:
    entries = chain(("bash", 1), ("mcp__x__recall", 1), ("recall", 1))
    entries[3]["calls"][0]["arguments"] = '{"seq": 2}'
    entries[5]["calls"][0]["arguments"] = arguments
    assert reference(merge(entries), 6) == ref


@pytest.mark.parametrize(
    ("written", "compact"),
    [
        (' { "a" : [1, 2.50, -0, 1E3, true, null] } ', '{"a":[1,2.50,-0,1E3,true,null]}'),
        (r'{"é": "\u0041\/\n\t\u0007\ud83d", "é": {}}', r'{"é":"A/\n\t\u0007\ud83d","é":{}}'),
        (r'"\ud83d\ude00"', '"😀"'),
        ('{"a" : NaN}', '{"a" : NaN}'),
        ("not  json", "not  json"),
        ("", ""),
    ],
)
def test_arguments_are_counted_as_compact_json(written: str, compact: str) -> None:
    assert compact_json(written) == compact


def test_a_policy_out_of_range_is_an_error() -> None:
    for wrong in ({"reserveTokens": 1000}, {"keepRecent": -1}, {"minGain": -1}):
        with pytest.raises(ValueError, match=r"policy\.range"):
            run([], WINDOW | wrong)


@pytest.mark.parametrize("seed", range(100))
def test_calls_at_the_boundaries_with_their_journal_add_up_to_the_fold(seed: int) -> None:
    entries, policy, kwargs = generate(random.Random(seed))
    kwargs.pop("overflowed", None)
    whole = run(entries, policy, **kwargs)
    joined = [
        at > 0 and entry["kind"] == entries[at - 1]["kind"] == "assistant"
        for at, entry in enumerate(entries)
    ]
    starts = [at for at, second in enumerate(joined) if not second]
    passes: list[Entry] = []
    before: dict[str, Any] = {"fates": [], "tier": "elide", "cutoff": 0}
    floor = None
    for n, at in enumerate([*starts, len(entries)]):
        if n == 0 or (at < len(entries) and entries[at]["kind"] != "assistant"):
            continue
        answer = run(entries[:at], policy, passes=passes, **kwargs)
        again = run(entries[:at], policy, passes=[*passes, *answer["passes"]], **kwargs)
        assert (again["view"], again["passes"]) == (answer["view"], [])  # L14
        assert answer["cutoff"] >= before["cutoff"]
        for one in answer["passes"]:
            assert one["tokens_after"] < one["tokens_before"]  # L10
            kept = [seq for seq in range(before["cutoff"]) if seq != floor]
            if one["tier"] == before["tier"]:  # L2
                assert [answer["fates"][s] for s in kept] == [before["fates"][s] for s in kept]
            assert one["floor"] is None or answer["fates"][one["floor"]] == "kept:floor"  # L8
            floor = one["floor"]
        passes += answer["passes"]
        before = answer
    assert passes == whole["passes"]  # L4
    for entry, fate in zip(whole["view"], whole["fates"], strict=True):
        assert fate != "elided" or len(entry["text"]) <= 400  # L9
