"""A syrupy extension that keeps a stream of requests as one readable file in your own folder.

    from compactor.stability.snapshots import RequestStreamExtension

    def test_the_requests(cache_stability, snapshot):
        ...
        assert cache_stability == snapshot(extension_class=RequestStreamExtension)

Needs syrupy (`pip install 'transcript-compactor[pytest]'`). Specification: docs/pytest.md.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Final

from compactor.stability.described import describe

try:
    from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
except ImportError as error:
    raise ImportError(
        "snapshots of requests need syrupy: pip install 'transcript-compactor[pytest]'",
        name=error.name,
    ) from error

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.,=+-]+")
_NAME_CHARS: Final = 100


class RequestStreamExtension(SingleFileSnapshotExtension):
    """`__snapshots__/<test module>/<test name>.txt`: see `compactor.stability.describe`."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    def serialize(
        self, data: Any, *, exclude: Any = None, include: Any = None, matcher: Any = None
    ) -> str:
        """The text of a `CacheStability` or of a list of request bodies.

        Args:
            matcher: is given the whole text, at the path `()`, and gives back what is kept.

        Raises:
            TypeError: with a filter: what is left out of a snapshot would not be tested.
        """
        if exclude or include:
            raise TypeError("RequestStreamExtension shows requests as they were sent, unfiltered")
        text = describe(data)
        return str(matcher(data=text, path=())) if matcher else text

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        """A name that is a file's on every system, and no other test's."""
        suffix = f"[{index}]" if isinstance(index, str) else f".{index}" if index else ""
        return _safe(test_location.snapshot_name_parametrized) + _safe(suffix)

    @classmethod
    def matches_test_location(cls, *, test_location: Any, snapshot_location: str) -> bool:
        """Whether a file is a test's. Versions of syrupy before 7.0.2 do not ask."""
        path, name = Path(snapshot_location), _safe(test_location.snapshot_name_parametrized)
        if not (test_location.is_item_parametrized and test_location.basename == path.parent.name):
            return bool(test_location.matches_snapshot_location(snapshot_location))
        return path.stem == name or path.stem.startswith((f"{name}.", f"{name}["))


def _safe(name: str) -> str:
    """A name without what a file's name may not have; with a digest where it says less then.

    Names in brackets may differ in upper and lower case alone, and file systems may not tell those.
    """
    test, bracket, rest = name.partition("[")
    inside = _UNSAFE.sub("-", rest.removesuffix("]"))[:_NAME_CHARS]
    said = f"{test}[{inside}]" if bracket else test
    if said == name and inside == inside.lower():
        return name
    return f"{said}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
