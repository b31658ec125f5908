"""Case files: read, and checked to be what `case.schema.json` says they are.

A fault in here is the suite's, never the implementation's, and is said in these words: a suite that
cannot be read must not look like an implementation that fails, and less so like one that passes.
Specification: CONFORMANCE, `conformance/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from compactor.conformance.texts import expand
from compactor.core.errors import CompactorError, InputError
from compactor.formats.raw.native import read_document

SPEC = "1"
EXPECTATIONS = ("result", "unchanged", "error")
_CASE = ("id", "why", "op", "given", "expect")


class Case(NamedTuple):
    """One case, its text values expanded.

    id: permanent, a path.
    why: one sentence.
    op, given: what to ask.
    expect: exactly one of `result`, `unchanged` and `error`.
    file: where it stands.
    """

    id: str
    why: str
    op: str
    given: dict[str, Any]
    expect: dict[str, Any]
    file: str


def load_cases(paths: Iterable[Path]) -> list[Case]:
    """All cases of case files and of folders of them, in order.

    Args:
        paths: files, or folders whose `*.json` are taken in order of their names. Schemas are not
            case files.

    Raises:
        InputError: `input.not_json`, `input.shape`: the suite is wrong.
    """
    cases: dict[str, Case] = {}
    for file in [file for path in paths for file in _files(path)]:
        for case in _read(file):
            if case.id in cases:
                raise _wrong(case.file, f"the id {case.id!r} is taken in {cases[case.id].file}")
            cases[case.id] = case
    return list(cases.values())


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.glob("*.json") if not file.name.endswith(".schema.json"))


def _read(path: Path) -> Iterator[Case]:
    try:
        root = read_document(path.read_bytes(), path.name).root
    except (CompactorError, OSError) as error:
        raise _wrong(path.name, str(error)) from error
    if not isinstance(root, dict) or root.get("spec") != SPEC:
        raise _wrong(path.name, f'an object with "spec": "{SPEC}" was expected')
    if not isinstance(root.get("cases"), list):
        raise _wrong(path.name, "a list of cases was expected")
    for index, native in enumerate(root["cases"]):
        yield _case(native, f"{path.name} $.cases[{index}]", path.name)


def _case(native: Any, place: str, file: str) -> Case:
    if not isinstance(native, dict) or sorted(native) != sorted(_CASE):
        raise _wrong(place, f"a case has {', '.join(_CASE)} and nothing else")
    for key in ("id", "why", "op"):
        if not isinstance(native[key], str) or not native[key]:
            raise _wrong(f"{place}.{key}", "a text was expected")
    for key in ("given", "expect"):
        if not isinstance(native[key], dict):
            raise _wrong(f"{place}.{key}", "an object was expected")
        try:
            expand(native[key], (key,))
        except CompactorError as error:
            raise _wrong(place, str(error)) from error
    _check_expectation(native["expect"], f"{place}.expect")
    return Case(**native, file=file)


def _check_expectation(expect: dict[str, Any], place: str) -> None:
    """A case that expects nothing would always pass."""
    if len(expect) != 1 or next(iter(expect)) not in EXPECTATIONS:
        raise _wrong(place, f"exactly one of {', '.join(EXPECTATIONS)} was expected")
    [(kind, value)] = expect.items()
    well_formed = {
        "result": isinstance(value, dict) and bool(value),
        "unchanged": value is True,
        "error": isinstance(value, str) and bool(value),
    }
    if not well_formed[kind]:
        raise _wrong(f"{place}.{kind}", "this expects nothing that could be compared")


def _wrong(place: str, message: str) -> InputError:
    return InputError(f"the suite is wrong: {message}", code="input.shape", path=place)
