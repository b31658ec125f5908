"""A syrupy extension that keeps a stream of requests as one readable file in your own folder.

    from compactor.stability.snapshots import RequestStreamExtension

    def test_the_requests(cache_stability, snapshot):
        ...
        assert cache_stability == snapshot(extension_class=RequestStreamExtension)

Needs syrupy (`pip install 'transcript-compactor[pytest]'`). Specification: docs/pytest.md.
"""

from __future__ import annotations

from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from compactor.stability.described import describe


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
