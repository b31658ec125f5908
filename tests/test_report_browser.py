"""The page in a browser: drawn, used by keys, at two sizes, light and dark, with hostile text.

Collected only where a Chromium is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_kit import Browser, browser
from report_kit import HOSTILE, bench_of, hostile_talk, page_of, told_of

from compactor.replay.page import html
from compactor.replay.page.words import harmless

SIZES = [(1280, 900), (360, 740)]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "replay.html"
    path.write_text(page_of(hostile_talk(40), name=HOSTILE), "utf-8")
    return path


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_drawn_and_nothing_of_it_runs_or_is_fetched(
    tab: Browser, page: Path, width: int, height: int, dark: bool
) -> None:
    tab.said.clear()
    tab.asked.clear()
    tab.show(page, width, height, dark=dark)
    assert tab.run("window.owned") is None
    assert tab.said == []
    assert tab.asked == [page.as_uri()]
    assert tab.run("document.querySelectorAll('#size .curve').length") == 3
    assert tab.run("document.querySelectorAll('#areas svg').length") == 3
    assert tab.run("document.querySelectorAll('.map .cell').length") == 81
    assert tab.run("document.documentElement.scrollWidth") == width
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(18, 19, 21)") is dark


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_an_entry_opens_into_text_before_and_after(
    tab: Browser, page: Path, width: int, height: int
) -> None:
    tab.show(page, width, height)
    tab.run("document.querySelector('.cell.f-gone[data-seq]').click()")
    before, after = tab.run(
        "[...document.querySelectorAll('.entry pre')].map((e) => e.textContent)"
    )
    assert harmless(HOSTILE) in before
    assert after.startswith("[elided ")
    assert tab.run("document.activeElement.id") == "entry"
    assert tab.run("document.documentElement.scrollWidth") == width
    assert tab.run("window.owned") is None


def test_the_keyboard_reaches_everything(tab: Browser, page: Path) -> None:
    tab.show(page, 1280, 900)
    tab.run("document.getElementById('size').focus()")
    tab.press("Home", "ArrowRight", "ArrowRight")
    assert tab.run("document.getElementById('size').getAttribute('aria-valuenow')") == "3"
    assert "Request 3 of 41: none " in tab.run(
        "document.getElementById('size').getAttribute('aria-valuetext')"
    ).replace("\xa0", " ")
    tab.run("document.querySelector('.passlist button').focus()")
    tab.press("Enter", "Tab")
    assert tab.run("document.querySelector('.detail') !== null")
    tab.run("document.querySelector('.seq').focus()")
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "entry"
    tab.press("Escape")
    assert tab.run("document.activeElement.className").startswith("cell")
    tab.press("ArrowRight", "ArrowDown", "Enter")
    assert tab.run("document.activeElement.id") == "entry"


def test_every_control_has_a_name_and_the_tab_key_meets_few_of_them(
    tab: Browser, page: Path
) -> None:
    tab.show(page, 1280, 900)
    unnamed = tab.run(
        "[...document.querySelectorAll('button, select, [tabindex]')].filter((e) => "
        "!(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || "
        "e.textContent.trim() || (e.labels && e.labels.length))).length"
    )
    assert unnamed == 0
    stops = tab.run(
        "[...document.querySelectorAll('button, select, a, summary, [tabindex]')]"
        ".filter((e) => e.tabIndex >= 0 && !e.disabled).length"
    )
    assert stops < 30


def test_policies_can_be_hidden_and_recordings_chosen(tab: Browser, tmp_path: Path) -> None:
    pairs = [told_of(bench_of(hostile_talk(turns)), name=f"talk {turns}") for turns in (12, 20)]
    path = tmp_path / "two.html"
    path.write_text(html([told for told, _ in pairs], [r for _, rows in pairs for r in rows]))
    tab.show(path, 1280, 900)
    tab.run("document.querySelectorAll('.tile')[1].click()")
    assert tab.run("document.querySelectorAll('#size .curve').length") == 2
    assert tab.run("document.querySelectorAll('.tile')[1].getAttribute('aria-pressed')") == "false"
    tab.run(
        "const s = document.getElementById('recording'); s.value = '1';"
        "s.dispatchEvent(new Event('change')); 1"
    )
    assert tab.run("document.getElementById('size').getAttribute('aria-valuemax')") == "21"
    assert tab.run("document.querySelectorAll('#size .curve').length") == 3
