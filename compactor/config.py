"""Policies from files: `compactor.toml`, `[tool.compactor]` in `pyproject.toml`, the seed's JSON.

A file's settings are in the config spelling, flat or under `compaction` as in the seed. Nothing is
skipped: an unknown key, a key given twice or a file that cannot be read is an error that names the
file, and the line where the parser knows it. Specification: DESIGN section 4, docs/policy.md.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from compactor.core.errors import PolicyError
from compactor.core.policy import Policy, policy_from

CONFIG_NAME = "compactor.toml"
PROJECT_NAME = "pyproject.toml"
SECTION = ("tool", "compactor")

_TOML_PLACE = re.compile(r" \(at line (\d+), column \d+\)\Z")
_TOML_END = " (at end of document)"
_MISFIT = re.compile(r"(?:Expected `([^`]+)`, got `([^`]+)`|(.+?)) - at `\$\.([^`]+)`\Z", re.DOTALL)
_NOUNS = {
    "object": "a table",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number with a fraction",
    "bool": "true or false",
    "null": "nothing",
}
"""Types as msgspec calls them → as a person does."""
_SHAPES = {
    "artifactIds": 'each is a table of {prefix, alphabet, length}, such as { prefix = "ev_", '
    'alphabet = "0-9a-f", length = 8 }'
}
"""Setting → what its value looks like, where the type does not say it."""


def load_policy(path: str | Path) -> Policy:
    """The policy of a config file.

    Args:
        path: a file in TOML, or in JSON when it begins with `{`. Of a `pyproject.toml` only
            `[tool.compactor]` is looked at.

    Raises:
        PolicyError: `policy.unreadable`, `policy.syntax` with `file:line`, `policy.unknown_key`,
            `policy.range`.
    """
    path, name = Path(path), str(path)
    text = _read(path)
    is_json = path.name != PROJECT_NAME and text.lstrip()[:1] == "{"
    settings = _json(text, name) if is_json else _toml(text, name)
    if path.name == PROJECT_NAME:
        found = _section(settings)
        if found is None:
            raise PolicyError(
                "there is no [tool.compactor]",
                code="policy.syntax",
                path=name,
                hint=f"add the section, or name a {CONFIG_NAME}",
            )
        settings, name = found, f"{name} [tool.compactor]"
    _refuse_said_twice(settings, name)
    try:
        return policy_from(settings, name)
    except PolicyError as error:
        raise _misfit(error, name) from error


def find_config(folder: Path) -> Path | None:
    """The config file of a folder: `compactor.toml`, else a `pyproject.toml` with our section.

    Raises:
        PolicyError: `policy.syntax`: a `pyproject.toml` that speaks of us is no TOML.
    """
    own, project = folder / CONFIG_NAME, folder / PROJECT_NAME
    if own.is_file():
        return own
    if not project.is_file():
        return None
    text = _read(project)
    # Another tool's broken file is none of our business.
    has_section = SECTION[-1] in text and _section(_toml(text, str(project))) is not None
    return project if has_section else None


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise PolicyError(
            f"cannot be read: {error.strerror or error}",
            code="policy.unreadable",
            path=str(path),
            hint="give a file in TOML or JSON",
        ) from error
    except UnicodeDecodeError as error:
        raise PolicyError(
            "is not in UTF-8", code="policy.syntax", path=str(path), hint="save it as UTF-8"
        ) from error


def _toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        _refuse_syntax("is nested too deeply", name, error)
    except ValueError as error:  # TOMLDecodeError, or a number that Python will not read
        message = str(error)
        place = _TOML_PLACE.search(message)
        line = place.group(1) if place else None
        if message.endswith(_TOML_END):
            line = str(text.count("\n") + 1)
        message = _TOML_PLACE.sub("", message).removesuffix(_TOML_END)
        _refuse_syntax(f"no TOML: {message}", f"{name}:{line}" if line else name, error)


def _json(text: str, name: str) -> dict[str, Any]:
    try:
        settings = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        _refuse_syntax(f"no JSON: {error.msg}", f"{name}:{error.lineno}", error)
    except RecursionError as error:
        _refuse_syntax("is nested too deeply", name, error)
    except ValueError as error:
        _refuse_syntax(f"no JSON: {error}", name, error)
    assert isinstance(settings, dict)  # it begins with a brace
    return settings


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once each, as TOML demands."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} is given twice")
        found[key] = value
    return found


def _section(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    found: Any = settings
    for key in SECTION:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def _refuse_said_twice(settings: Mapping[str, Any], name: str) -> None:
    """A setting both flat and under `compaction` says two things."""
    nested = settings.get("compaction")
    both = [key for key in nested if key in settings] if isinstance(nested, dict) else []
    if both:
        raise PolicyError(
            f"{both[0]!r} is given twice, the second time under `compaction`",
            code="policy.range",
            path=name,
            hint="keep one of them",
        )


def _misfit(error: PolicyError, name: str) -> PolicyError:
    """The error, a wrong type said in words with the setting as its place."""
    found = _MISFIT.fullmatch(str(error.__cause__))
    if found is None or not isinstance(error.__cause__, msgspec.ValidationError):
        return error
    wanted, given, other, place = found.groups()
    if wanted:
        nouns = " or ".join(_NOUNS.get(t, t) for t in wanted.split(" | ") if t != "null")
        message = f"must be {nouns}, not {_NOUNS.get(given, given)}"
    else:
        message = other[0].lower() + other[1:]
    hint = next((text for key, text in _SHAPES.items() if place.startswith(key)), "")
    return PolicyError(message, code=error.code, path=f"{name}: {place}", hint=hint)


def _refuse_syntax(message: str, place: str, error: Exception) -> NoReturn:
    raise PolicyError(
        message, code="policy.syntax", path=place, hint="a config file is TOML or JSON"
    ) from error
