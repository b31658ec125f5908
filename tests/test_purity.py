"""The purity line and the direction of imports: DESIGN section 12, STYLE 1 and 5."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import purity

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "compactor"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
PURE = [name for name in MODULES if name.startswith(("compactor.core", "compactor.formats"))]
CORE = [name for name in PURE if name.startswith("compactor.core")]

EXCEPTIONS = {
    ("compactor.core.policy", "the constant 0.5"): "how near a misspelled setting is, for a hint",
    ("compactor.formats.raw.json_compact", "uses isprintable"): "only asked of ASCII",
    ("compactor.formats.providers.gemini", "uses lower"): "compared with ASCII",
}
"""What a check finds and why it is fine."""

LAYERS = (
    ("compactor.core",),
    ("compactor.formats",),
    ("compactor.loop", "compactor.segments", "compactor.durable", "compactor.line_sum"),
    ("compactor.testing",),
    ("compactor.walk", "compactor.fit", "compactor.installed"),
    ("compactor.counters", "compactor.journal_file", "compactor.token_cache"),
    ("compactor.models", "compactor.config"),
    ("compactor.inputs", "compactor.codecs", "compactor.zip_directory"),
    ("compactor.archives",),
    ("compactor.containers",),
    ("compactor.transcript", "compactor.choose"),
    ("compactor.inspection", "compactor.conversion"),
    ("compactor.calibration",),
    ("compactor.replay",),
    ("compactor.shown", "compactor.breakpoints", "compactor.reasoning"),
    ("compactor.request",),
    ("compactor.store",),
    ("compactor.session", "compactor.numbers"),
    ("compactor.api",),
    ("compactor",),
    ("compactor.conformance", "compactor.stdio", "compactor.stability"),
    ("compactor.cli", "compactor.__main__"),
)
"""From the bottom up. A module imports from its own layer or from a lower one."""


def tree_of(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text("utf-8"))


def imported(name: str) -> Iterator[str]:
    """Our modules that a module imports, lazily or not."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [module for module in inner if module in MODULES]
            yield from found
            if len(found) < len(inner):
                yield node.module


def layer(name: str) -> int:
    """The layer of the longest prefix that is in the table."""
    ranks = {prefix: rank for rank, prefixes in enumerate(LAYERS) for prefix in prefixes}
    parts = name.split(".")
    known = [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
    found = next(prefix for prefix in known if prefix in ranks)
    # `compactor.testing.facts` belongs to `compactor.testing`; other new modules must be listed.
    family = next((p for p in ranks if p != "compactor" and name.startswith(f"{p}_")), None)
    assert family or found != "compactor" or name == "compactor", f"{name} is in no layer"
    return ranks[family or found]


def problems() -> dict[tuple[str, str], int]:
    """(module, what) → line, for every check where it holds."""
    checks = [*((PURE, check) for check in purity.CHECKS.values()), (CORE, purity.floats)]
    return {
        (name, what): line
        for names, check in checks
        for name in names
        for line, what in check(tree_of(name))
    }


def test_the_pure_part_is_pure_and_the_core_decides_with_integers() -> None:
    assert {key: line for key, line in problems().items() if key not in EXCEPTIONS} == {}


def test_every_exception_is_still_needed() -> None:
    assert set(EXCEPTIONS) <= set(problems())


def test_imports_point_down() -> None:
    up = [
        (name, other) for name in MODULES for other in imported(name) if layer(other) > layer(name)
    ]
    assert up == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    above: dict[str, set[str]] = {name: set(imported(name)) - {name} for name in MODULES}
    left = dict(above)
    while left:
        free = [name for name, needs in left.items() if not needs & left.keys()]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


IMPURE = {
    "import time": "imports",
    "from os import environ": "imports",
    "def f():\n    import random": "imports",
    "from .. import x": "imports",
    "def f():\n    return open('x')": "effects",
    "def f():\n    global x": "effects",
    "def f(x):\n    return hash(x)": "effects",
    "MEMO = {}\ndef f(x):\n    MEMO[x] = 1": "changed globals",
    "MEMO: list[int] = []\ndef f(x):\n    MEMO.append(x)": "changed globals",
    "MEMO = {}\ndef f(x):\n    del MEMO[x]": "changed globals",
    "for x in {1, 2}:\n    pass": "set order",
    "y = [x for x in set(z)]": "set order",
    "y = list({x for x in z})": "set order",
    "y = ','.join(set(z))": "set order",
    "def f(x: set[str]):\n    return [*x]": "set order",
    "class A:\n    def f(self):\n        self.x: set[int] = z\n        list(self.x)": "set order",
    "y = frozenset(z)\nfor x in y - w:\n    pass": "set order",
    "y = dict.fromkeys(set(z))": "set order",
    "y = set[int]()\nw = tuple(y)": "set order",
    "y = x.casefold()": "unicode tables",
}


@pytest.mark.parametrize("source", IMPURE)
def test_the_checks_find_what_is_impure(source: str) -> None:
    found = [name for name, check in purity.CHECKS.items() if list(check(ast.parse(source)))]
    assert found == [IMPURE[source]]


@pytest.mark.parametrize("source", ["y = x / 2", "y = 0.5", "y = float(x)", "y = round(x)"])
def test_the_checks_find_floats(source: str) -> None:
    assert list(purity.floats(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "y = sorted({1, 2})",
        "y = {1, 2}\nz = sorted(x for x in y if x)",
        "y = 1 in {1, 2}\nz = len(set(w))",
        "class A:\n    def __hash__(self):\n        return hash(self.x)",
        "TABLE = {1: 2}\ny = TABLE[1]",
        "from compactor.core import model\nimport json",
        "y = x // 2",
    ],
)
def test_the_checks_leave_what_is_pure(source: str) -> None:
    checks = (*purity.CHECKS.values(), purity.floats)
    assert [found for check in checks for found in check(ast.parse(source))] == []
