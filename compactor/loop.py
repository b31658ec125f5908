"""Reads `loop.json`, and knows where the files that ship beside the code are.

An installed package carries them in `compactor/data`; a checkout (editable install) has them at its
top, where people edit them. The checkout wins, so that an edit is seen at once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from compactor.core.errors import InternalError
from compactor.core.texts import Loop

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """Where `loop.json` or `conformance` is, in a wheel or in a checkout.

    Raises:
        InternalError: `internal.install`: the installation is not whole.
    """
    checkout = _PACKAGE.parent
    places = [_PACKAGE / "data" / name]
    if (checkout / "pyproject.toml").is_file():
        places.insert(0, checkout / name)
    for place in places:
        if place.exists():
            return place
    raise InternalError(
        f"{name} is missing from the installation",
        code="internal.install",
        path=str(places[-1]),
        hint="install the package again",
    )


@cache
def loop() -> Loop:
    """The texts and numbers that ship with this version. Read once."""
    return msgspec.json.decode(shipped("loop.json").read_bytes(), type=Loop)
