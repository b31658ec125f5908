"""The suite can fail: it notices every wrong implementation, and no right one.

Each program in `tests/wrong/` has one fault. It is asked, over the protocol, all cases of the rules
that it breaks; the cases named here must be among those that fail.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compactor.conformance.cases import load_cases
from compactor.conformance.child import Child
from compactor.conformance.runner import run
from compactor.loop import shipped

ROOT = Path(__file__).resolve().parent.parent
WRONG = ROOT / "tests" / "wrong"
CASES = load_cases([shipped("conformance")])

NOTICED = {
    "echo": ["threshold/one-above", "count/chars4-exact", "written-anthropic/text", "render/pass"],
    "drops_result": ["threshold/equal", "recent/unanswered-all", "floor/at-budget-zero"],
    "floor_elided": ["floor/at-budget-zero", "floor/only-evidence", "floor/moves"],
    "floor_charged": ["floor/not-charged", "budget/oldest-first"],
    "newest_first": ["budget/oldest-first", "budget/kept-earlier-is-charged-again"],
    "off_by_one_token": ["threshold/equal", "threshold/overhead-below", "tier/plan-suffices"],
    "counts_utf16": ["count/chars4-code-points"],
    "marker_uncapped": ["ids/cap-falls-from-the-end", "ids/cap-covers-reference"],
    "two_passes": ["tier/one-pass", "tier/sticky"],
    "recent_off_by_one": ["recent/count-one-less", "recent/count-zero"],
    "unanswered_elided": ["recent/unanswered", "recent/unanswered-all", "recent/no-assistant"],
    "forged_marker_trusted": ["forging/marker-at-the-start", "forging/marker-as-floor"],
    "errors_in_words": ["forging/failure-in-words"],
    "no_catch_up": ["catch-up/every-boundary", "recent/answered", "tier/sticky"],
    "forgets_journal": ["journal/second-call", "journal/one-way", "journal/foreign"],
    "sliding_window": ["threshold/equal", "worth/one-less"],
    "prices_what_is_new": ["priced/ahead-new", "priced/ahead-equal"],
    "never_waits_for_later": ["priced/later", "priced/later-further", "priced/later-less"],
    "forgets_the_last_pass": ["priced/ahead-since"],
    "waits_without_end": ["priced/carry-reset"],
    "looks_ahead_with_patience": ["priced/carry-less", "priced/carry-not-yet"],
    "gives_output_a_role": [
        "file-refused/output-becomes-a-message",
        "file-refused/part-of-output-becomes-a-message",
        "file-refused/header-gone-text-left",
    ],
    "applies_stale_files": ["file-refused/stale"],
    "protects_nothing": ["edit-refused/first-user-message", "edit-refused/in-flight"],
    "edits_what_it_elides": ["edits-and-passes/edited-is-not-elided"],
    "respells_json": ["unchanged/spacing", "unchanged/numbers", "written-claude-code/line"],
}
"""Program → cases that must fail for it."""


BROKEN = ("refused with internal.fault", "ended without an answer")
"""What is said of a program that cannot answer."""


def failing(argv: list[str], ids: list[str] | None = None) -> set[str]:
    """The ids that a program fails, of all cases or of the rules that these ids belong to."""
    rules = {name.partition("/")[0] for name in ids or ()}
    chosen = [case for case in CASES if not ids or case.id.partition("/")[0] in rules]
    with Child(argv) as child:
        failed = [verdict for verdict in run(chosen, child) if not verdict.passed]
    broken = [verdict for verdict in failed if verdict.problem.startswith(BROKEN)]
    assert not broken, "a fault gives wrong answers; this program gives none"
    return {verdict.case.id for verdict in failed}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_every_program_is_asked() -> None:
    programs = {file.stem for file in WRONG.glob("*.py")} - {"faults"}
    assert programs == set(NOTICED)


def test_the_right_implementation_passes_over_the_protocol() -> None:
    assert failing([sys.executable, "-m", "compactor.stdio"]) == set()


@pytest.mark.parametrize("name", NOTICED)
def test_a_wrong_implementation_is_noticed(name: str) -> None:
    failed = failing([sys.executable, str(WRONG / f"{name}.py")], NOTICED[name])
    assert set(NOTICED[name]) - failed == set()


def test_an_implementation_that_only_echoes_fails_nearly_everything() -> None:
    failed = failing([sys.executable, str(WRONG / "echo.py")])
    expects_change = {case.id for case in CASES if "unchanged" not in case.expect}
    told_apart = failed & expects_change
    assert len(told_apart) > 0.9 * len(expects_change)
