"""Hypothesis profiles, and which tests there are on this machine.

The default run is the same everywhere; `HYPOTHESIS_PROFILE=deep pytest tests/test_laws.py` looks
further. Tests over data that is not in the repository are collected only where that data is.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from syrupy.assertion import SnapshotAssertion

from tests.browser_kit import CHROMIUM
from tests.golden_files import GoldenText

INSTALLED = any(point.name == "compactor" for point in entry_points(group="pytest11"))
pytest_plugins = [] if INSTALLED else ["compactor_pytest"]
"""Our own plugin; where the package is installed pytest has found it already."""

# A whole conversation is drawn for each example, and no example is measured by a clock.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    max_examples=25,
    print_blob=False,
    suppress_health_check=SLOW,
)
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=1000,
    database=None,
    print_blob=True,
    suppress_health_check=SLOW,
)
settings.register_profile("first", settings.get_profile("default"), phases=[Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Started in the background of a script, pytest ignores interrupts, and so would what tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares a text with a file under `golden/`."""
    return snapshot.use_extension(GoldenText)


SHARED = Path(__file__).resolve().parents[2] / "shared"
NEEDS = {
    "test_bugs.py": SHARED / "bugs",
    "test_bugs_editing.py": SHARED / "bugs",
    "test_bugs_sessions.py": SHARED / "bugs",
    "test_recall_recorded.py": SHARED / "transcripts",
    "test_transcripts.py": SHARED / "transcripts",
}
collect_ignore = [name for name, folder in NEEDS.items() if not folder.is_dir()]
NEEDS_PACKAGES = {
    "test_replay_ray.py": ("ray", "pyarrow", "fsspec"),
    "test_report_picture.py": ("matplotlib",),
}
collect_ignore += [
    name
    for name, packages in NEEDS_PACKAGES.items()
    if not all(map(importlib.util.find_spec, packages))
]
collect_ignore += [] if CHROMIUM else ["test_report_browser.py"]
collect_ignore += [] if shutil.which("node") else ["test_node.py"]


def pytest_report_header() -> str:
    """So that nobody takes a run for more than it is."""
    return f"not on this machine: {', '.join(collect_ignore)}" if collect_ignore else "all is here"


_CACHE = tempfile.TemporaryDirectory(prefix="compactor-tests-")
os.environ["COMPACTOR_CACHE_DIR"] = _CACHE.name
"""Counts are remembered for this run alone; processes that tests start inherit it."""


def pytest_unconfigure() -> None:
    _CACHE.cleanup()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test over files that are not here is no test: it is left out, never skipped."""
    absent = [item for item in items if _has_no_case(item)]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in set(absent)]


def _has_no_case(item: pytest.Item) -> bool:
    """Whether pytest gave it an empty set of parameters."""
    reasons = [str(mark.kwargs.get("reason", "")) for mark in item.iter_markers("skip")]
    return any(reason.startswith("got empty parameter set") for reason in reasons)
