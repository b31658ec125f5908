"""Names with settings as people write them: `NAME[:key=value,…]`.

Shared by policies and caches. Nothing is skipped: an unknown or repeated key, or a value of another
kind, is an error that names the spelling. Specification: docs/replay.md.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from compactor.core.errors import PolicyError

_DIGITS: Final = re.compile(r"[0-9]+(?:_[0-9]+)*", re.ASCII)
_DIGITS_MAX: Final = 15


class Spelled(NamedTuple):
    """A name and its settings; text: as it was written."""

    name: str
    settings: Mapping[str, str]
    text: str


def spelled(text: str) -> Spelled:
    """The parts of a spelling.

    Raises:
        PolicyError: `policy.syntax`.
    """
    name, colon, rest = text.partition(":")
    settings: dict[str, str] = {}
    for pair in rest.split(",") if colon else ():
        key, equals, value = pair.partition("=")
        if not (key and equals and value) or key in settings:
            raise PolicyError(
                f"{pair!r} is no setting" if key not in settings else f"{key!r} is given twice",
                code="policy.syntax",
                path=text,
                hint="NAME:key=value,key=value",
            )
        settings[key] = value
    return Spelled(name, settings, text)


def whole(value: str) -> int | None:
    """Digits, grouped by underscores at will; None for anything else."""
    if not _DIGITS.fullmatch(value) or len(value.replace("_", "")) > _DIGITS_MAX:
        return None
    return int(value.replace("_", ""))


def number(given: Spelled, key: str, default: int, least: int = 0) -> int:
    """A setting that is a whole number.

    Raises:
        PolicyError: `policy.range`.
    """
    if key not in given.settings:
        return default
    found = whole(given.settings[key])
    if found is None or found < least:
        raise PolicyError(
            f"{key}={given.settings[key]} is no whole number from {least} up",
            code="policy.range",
            path=given.text,
            hint=f"such as {key}={max(default, least)}",
        )
    return found


def choice(given: Spelled, key: str, choices: Sequence[str], default: str) -> str:
    """A setting that is one of some words.

    Raises:
        PolicyError: `policy.range`.
    """
    found = given.settings.get(key, default)
    if key in given.settings and found not in choices:
        raise PolicyError(
            f"{key}={found}: it must be one of {', '.join(choices)}",
            code="policy.range",
            path=given.text,
        )
    return found


def meant(name: str, known: Sequence[str], more: str = "") -> str:
    """The next step after a name that is none of the known: the likeliest of them, and all."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}known: {', '.join(known) or 'none'}{more}"


def refuse_others(given: Spelled, keys: Sequence[str]) -> None:
    """Refuse settings that there are not.

    Raises:
        PolicyError: `policy.unknown_key`.
    """
    for key in given.settings:
        if key not in keys:
            raise PolicyError(
                f"unknown setting {key!r}",
                code="policy.unknown_key",
                path=given.text,
                hint=meant(key, keys),
            )
