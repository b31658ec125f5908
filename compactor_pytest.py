"""The pytest plugin: what pytest loads at start. Everything else waits for the fixture.

Beside the package and not in it, because pytest imports this in every run of every project that
has the package installed, and `import compactor` takes a third of a second. Specification:
docs/pytest.md.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import pytest

if TYPE_CHECKING:
    from compactor.stability import CacheStability

NAME = "cache_stability"
MARKER = (
    f"{NAME}(breaks=0, conversations=None, apart=True, ignore=()): what the fixture of this name "
    "lets pass (transcript-compactor)."
)
_REPORT = "--cache-stability-report"
_BREAKS = "cache_stability_breaks"
_SETTINGS = ("breaks", "conversations", "apart", "ignore")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cache stability (transcript-compactor)")
    group.addoption(
        _REPORT,
        metavar="FILE",
        help="write what the tests with the fixture cache_stability recorded to a JSON file",
    )
    parser.addini(
        _BREAKS, "breaks of the prompt cache that a test may have without a marker", default="0"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    report = config.getoption(_REPORT)
    if report and not hasattr(config, "workerinput"):  # workers of xdist send theirs on
        config.pluginmanager.register(_Report(Path(config.invocation_params.dir, report)))


@pytest.fixture
def cache_stability(request: pytest.FixtureRequest) -> Generator[CacheStability, None, None]:
    """Records the requests of a harness; the test fails where they break the prompt cache.

    `record(body)`, `transport(inner)` or `wrap(client)` record; `passed(outcome)` tells of a pass.
    """
    from compactor import CompactorError
    from compactor.stability import CacheStability

    problem = ""
    try:
        stream = CacheStability(**_settings(request.node))
    except CompactorError as error:
        problem = f"@pytest.mark.{NAME}: {error}"
    if problem:
        _refuse(problem)
    request.node.stash[_KEY] = stream
    yield stream
    stream.close()
    if _PASSED in request.node.stash:  # fixtures around may have sent more
        _check(stream)


_KEY = pytest.StashKey["CacheStability"]()
_PASSED = pytest.StashKey[bool]()


def _settings(item: pytest.Item) -> dict[str, Any]:
    """What the markers of a test say, the nearest first, and the configuration."""
    settings: dict[str, Any] = {"breaks": _allowed(item.config)}
    for mark in reversed([*item.iter_markers(NAME)]):
        unknown = [name for name in mark.kwargs if name not in _SETTINGS]
        if mark.args or unknown:
            what = unknown[0] if unknown else repr(mark.args[0])
            _refuse(f"@pytest.mark.{NAME} has no setting {what}: {', '.join(_SETTINGS)}")
        settings.update(mark.kwargs)
    return settings


def _allowed(config: pytest.Config) -> int:
    said = str(config.getini(_BREAKS))
    if not said.isdecimal():
        _refuse(f"{_BREAKS} is a number, not {said!r}")
    return int(said)


def _refuse(problem: str) -> NoReturn:
    raise pytest.fail.Exception(problem, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check what a test recorded and did not check itself. Its own failure comes first."""
    result = yield
    stream = item.stash.get(_KEY, None)
    if stream is not None:
        _check(stream)
        item.stash[_PASSED] = True
    return result


def _check(stream: CacheStability) -> None:
    problem = ""
    try:
        if not stream.is_checked:
            stream.check()
    except AssertionError as error:
        problem = str(error)
    if problem:
        _refuse(problem)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what was recorded into the report of the test, which workers of xdist send on."""
    report = yield
    stream = item.stash.get(_KEY, None)
    if stream is not None and call.when == "call" and item.config.getoption(_REPORT):
        cast("Any", report).cache_stability = stream.summary()
    return report


class _Report:
    """Gathers what tests recorded, and writes the file at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tests: list[dict[str, Any]] = []
        self._write()  # a file that cannot be written is an error before the tests run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = getattr(report, NAME, None)
        if found is not None:
            self._tests.append({"test": report.nodeid, "outcome": report.outcome, **found})

    def pytest_sessionfinish(self) -> None:
        self._tests.sort(key=lambda test: test["test"])  # workers finish in any order
        self._write()

    def _write(self) -> None:
        text = json.dumps({"tests": self._tests}, indent=2, ensure_ascii=False)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(text + "\n", "utf-8", errors="surrogatepass")
        except OSError as error:
            raise pytest.UsageError(f"{_REPORT}: {self._path} cannot be written: {error}") from None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"cache stability: {len(self._tests)} tests in {self._path}")
