"""The page in a browser: drawn, used by keys, at two sizes, light and dark, with hostile text.

Collected only where a Chromium is installed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_kit import Browser, browser
from report_kit import HOSTILE, bench_of, hostile_talk, page_of, shown_of

from compactor.replay.page import html
from compactor.replay.page.words import harmless, one_line

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


def test_whatever_ran_in_the_page_could_fetch_nothing(tab: Browser, page: Path) -> None:
    tab.show(page, 1280, 900)
    heard = "document.addEventListener('securitypolicyviolation', (e) => done(e.violatedDirective))"
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        nobody.setblocking(False)
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        for directive, attempt in _ATTEMPTS.items():
            script = attempt.replace("URL", repr(url))
            assert tab.run(f"new Promise((done) => {{ {heard}; {script} }})") == directive
        tab.run("document.body.click()")
        assert tab.run("window.owned") is None
        with pytest.raises(BlockingIOError):
            nobody.accept()


_ATTEMPTS = {
    "img-src": "new Image().src = URL",
    "connect-src": "fetch(URL).catch(() => 0)",
    "script-src-elem": "document.body.append(Object.assign("
    "document.createElement('script'), {textContent: 'window.owned = 4'}))",
    "script-src-attr": "document.body.setAttribute('onclick', 'window.owned = 5')",
    "style-src-attr": "document.body.setAttribute('style', 'color: red')",
    "base-uri": "document.head.append(Object.assign(document.createElement('base'), {href: URL}))",
}
"""What the policy calls it → an attempt."""


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


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings, the first of which costs more, and a file that failed."""
    talks = {f"talk {turns} {HOSTILE}": hostile_talk(turns) for turns in (20, 12)}
    shown = [shown_of(bench_of(talk), name) for name, talk in talks.items()]
    path = tmp_path_factory.mktemp("several") / "replay.html"
    path.write_text(html(shown, [(f"lost {HOSTILE}", HOSTILE)]))
    return path


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_several_recordings_are_shown_together_and_one_at_a_time(
    tab: Browser, several: Path, width: int, height: int
) -> None:
    tab.show(several, width, height)
    assert tab.run("window.owned") is None
    assert tab.run("document.documentElement.scrollWidth") == width
    assert tab.run("document.querySelectorAll('#allregret .dot').length") == 3
    assert tab.run("document.getElementById('size').getAttribute('aria-valuemax')") == "21"
    tab.run("document.querySelectorAll('tbody[data-at] button')[1].click()")
    assert tab.run("document.getElementById('size').getAttribute('aria-valuemax')") == "13"
    assert tab.run("document.activeElement.id") == "recording"
    assert tab.run("document.activeElement.value") == "1"
    assert tab.run("document.querySelector('.failed li').textContent") == (
        f"{one_line(f'lost {HOSTILE}', 160)} {harmless(HOSTILE)}"
    )


def test_policies_can_be_hidden(tab: Browser, several: Path) -> None:
    tab.show(several, 1280, 900)
    tab.run("document.querySelectorAll('#tiles .tile')[1].click()")
    assert tab.run("document.querySelectorAll('#size .curve').length") == 2
    assert tab.run("document.activeElement.getAttribute('aria-pressed')") == "false"


def test_a_mark_says_what_its_pass_elided_and_opens_it(tab: Browser, page: Path) -> None:
    tab.show(page, 1280, 900)
    words = tab.run("document.querySelector('#size .mark title').textContent").splitlines()
    assert "entries changed" in words[0].replace("\xa0", " ")
    assert one_line(f"tool{HOSTILE}", 80) in words[1]
    tab.run("document.querySelector('#size .mark').dispatchEvent(new Event('click'))")
    assert words[0] in tab.run("document.querySelector('#passdetail').textContent")
    changed = tab.run("document.querySelectorAll('#passdetail .seq').length")
    assert tab.run("document.querySelectorAll('.map .cell.hit').length") == changed > 0
    assert tab.run("document.activeElement.getAttribute('aria-expanded')") == "true"


def test_the_numbers_of_every_chart_can_be_had_as_a_table(tab: Browser, page: Path) -> None:
    tab.show(page, 1280, 900)
    tab.run("for (const each of document.querySelectorAll('.numbers')) each.open = true; 1")
    tab.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    rows = "document.querySelectorAll('.numbers')[{}].querySelectorAll('tbody tr').length"
    assert [tab.run(rows.format(at)) for at in range(4)] == [41, 41, 41, 9]


def test_no_text_of_a_chart_lies_on_another_or_is_cut(tab: Browser, several: Path) -> None:
    for width, height in (*SIZES, (320, 640)):
        tab.show(several, width, height)
        assert tab.run(_OVERLAPS) == []


_OVERLAPS = """
(() => {
  const found = [];
  for (const chart of document.querySelectorAll('svg')) {
    const edge = chart.closest('.card').getBoundingClientRect();
    const texts = [...chart.querySelectorAll('text')].map((e) => [e.textContent, e.getBoundingClientRect()]);
    texts.forEach(([text, a], i) => {
      if (a.left < edge.left || a.right > edge.right) found.push('cut: ' + text);
      for (const [other, b] of texts.slice(i + 1))
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) found.push(text + ' on ' + other);
    });
  }
  return found;
})()
"""  # noqa: E501


def test_fingers_meet_targets_that_are_large_enough(tab: Browser, page: Path) -> None:
    tab.show(page, 360, 740)
    small = tab.run(
        "[...document.querySelectorAll('main button, main select, main summary')]"
        ".map((e) => e.getBoundingClientRect())"
        ".filter((r) => r.width && (r.width < 24 || r.height < 24)).length"
    )
    assert small == 0


def test_focus_is_seen(tab: Browser, page: Path) -> None:
    tab.show(page, 1280, 900)
    for _ in range(12):
        tab.press("Tab")
        outline = tab.run("getComputedStyle(document.activeElement).outlineWidth")
        style = tab.run("getComputedStyle(document.activeElement).outlineStyle")
        assert (outline, style) == ("2px", "solid")
