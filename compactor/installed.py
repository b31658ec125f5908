"""Formats that other packages bring, by entry points of the group `transcript_compactor.formats`.

A shell of the table `FORMATS`. An entry point is named as its format; its object is a lens, or a
class of one that is called without arguments. Built-in formats come first and keep their names.
Nothing is imported, and no installed package is looked at, before an input is in no built-in format
or a name is asked for that is none of theirs. What cannot be used is an error where it is asked
for, a finding where it is not, and never in the way of the rest. Specification: docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from compactor import formats
from compactor.core.errors import CompactorError, Finding, InputError
from compactor.core.model import Reading
from compactor.formats import FORMATS
from compactor.formats.lens import Lens

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "transcript_compactor.formats"
_METHODS = ("recognises", "read", "messages", "rewrite_body", "rewrite_argument")
_FAULTS = (Exception, SystemExit)
"""What code of strangers may raise at any place, but for what ends the process from outside."""


class Brought(NamedTuple):
    """A format of another package.

    lens: None when it cannot be used.
    problem: why not; "" when it can.
    """

    name: str
    package: str
    lens: Lens | None
    problem: str = ""

    def refused(self) -> InputError:
        """The error for one that was asked for."""
        return _broken(self.name, self.package, self.problem)


def names() -> tuple[str, ...]:
    """The names of all formats, built-in ones first. Imports nothing."""
    return (*FORMATS, *(name for name in _points() if name not in FORMATS))


def lens(name: str) -> Lens:
    """The lens of a format name.

    Raises:
        InputError: `input.format_unknown`, with the nearest name; `input.format_broken`.
    """
    if name in FORMATS:
        return FORMATS[name]
    if name not in _points():
        raise formats.unknown(name, names())
    found = _brought(name)
    if found.lens is None:
        raise found.refused()
    return found.lens


def detect(root: Any) -> Lens:
    """The lens of parsed native data, by its shape; built-in formats are asked first.

    Raises:
        InputError: `input.format_unknown`, or as `formats.detect`.
    """
    try:
        return formats.detect(root)
    except InputError as error:
        found = next(_claiming(root), None)
        if found is not None:
            return found
        problems = [finding.message for finding in findings()]
        if not problems:
            raise
        hint = "; ".join(filter(None, (error.hint, *problems)))
        raise InputError(error.message, code=error.code, path=error.path, hint=hint) from error


def recognised(root: Any) -> bool:
    """Whether parsed native data is in any format at all."""
    return any(each.recognises(root) for each in FORMATS.values()) or any(
        True for _ in _claiming(root)
    )


def read(lens: Lens, root: Any) -> Reading:
    """What a lens reads, whoever wrote it.

    Raises:
        InputError: as the lens; `input.format_broken` where one of another package fails.
    """
    if lens.name in FORMATS:
        return lens.read(root)
    package = _package(_points()[lens.name][0]) if lens.name in _points() else ""
    try:
        reading = lens.read(root)
    except CompactorError:
        raise
    except _FAULTS as error:
        raise _broken(lens.name, package, _said(error)) from error
    if not isinstance(reading, Reading):
        raise _broken(lens.name, package, "`read` gives no Reading")
    reading.findings = [*reading.findings, *findings()]
    return reading


def findings() -> tuple[Finding, ...]:
    """The formats of other packages that have turned out to be unusable so far."""
    errors = (_broken(name, package, said) for (name, package), said in _PROBLEMS.items())
    return tuple(Finding("format_broken", error.message) for error in errors)


_PROBLEMS: dict[tuple[str, str], str] = {}
"""Why formats of other packages failed, by name and package, in the order in which they did."""


@cache
def _points() -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points by name, sorted. Costs a look at every installed package, once."""
    from importlib.metadata import entry_points  # 20 ms that no built-in format needs

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda each: (each.name, _package(each))):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


@cache
def _brought(name: str) -> Brought:
    """The format of a name, imported."""
    point, *others = _points()[name]
    found = _checked(point, [_package(each) for each in others])
    if found.problem:
        _PROBLEMS[name, found.package] = found.problem
    return found


def _checked(point: EntryPoint, others: list[str]) -> Brought:
    package = _package(point)
    if point.name in FORMATS:
        return Brought(point.name, package, None, "there is a built-in format of this name")
    if others:
        return Brought(point.name, package, None, f"{' and '.join(others)} brings one too")
    try:
        thing = point.load()
        made: Any = thing() if isinstance(thing, type) else thing
        problem = _unfit(made, point.name)
    except _FAULTS as error:
        problem = _said(error)
    return Brought(point.name, package, None if problem else made, problem)


def _unfit(lens: Any, name: str) -> str:
    """Why an object is no lens of this name; "" when it is one."""
    missing = [method for method in _METHODS if not callable(getattr(lens, method, None))]
    if missing:
        return f"it has no {', '.join(missing)}"
    own = getattr(lens, "name", None)
    return "" if own == name else f"its lens is named {own!r}"


def _claiming(root: Any) -> Iterator[Lens]:
    """The usable formats of other packages that recognise native data."""
    for name in _points():
        found = _brought(name)
        try:
            if found.lens is not None and found.lens.recognises(root):
                yield found.lens
        except _FAULTS as error:
            _PROBLEMS[name, found.package] = _said(error)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _said(error: BaseException) -> str:
    """An error of strangers in one short line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0][:200]


def _broken(name: str, package: str, problem: str) -> InputError:
    of = f" of {package}" if package else ""
    return InputError(
        f"the format {name!r}{of} cannot be used: {problem}",
        code="input.format_broken",
        hint=f"update or uninstall {package.partition(' ')[0]}" if package else "",
    )
