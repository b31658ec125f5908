"""Results as Parquet (the extra `ray`): the same bytes by any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from compactor.core.errors import CompactorError
from compactor.replay.many import Done, Item
from compactor.replay.remote import file_system, package
from compactor.replay.simulate import Row
from compactor.replay.sums import Replay


def write_parquet(url: str, found: Sequence[tuple[Item, Done]], *, rows: bool) -> None:
    """Results as a Parquet file, a row a recording and policy, and one a failure, in order.

    Args:
        url: of a file, on any file system.
        rows: with a list of requests in each.

    Raises:
        CompactorError: `output.unwritable`.
        PolicyError: `policy.not_installed`.
    """
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    schema = _schema(arrow, rows=rows)
    records = [record for item, done in found for record in _records(item, done, rows=rows)]
    files, path = file_system(url)
    try:
        files.makedirs(files._parent(path), exist_ok=True)
        with files.open(path, "wb") as stream:
            parquet.write_table(arrow.Table.from_pylist(records, schema=schema), stream)
    except Exception as error:
        raise CompactorError(
            f"cannot be written: {error}", code="output.unwritable", path=url
        ) from error


_TYPES: Final = {"int": "int64", "str": "string", "float": "float64", "bool": "bool_"}
_ERROR: Final = ("error_code", "error_message")


def _schema(arrow: Any, *, rows: bool) -> Any:
    """As the fields of a replay say."""
    fields = [("file", arrow.string()), *_fields(arrow, Replay)]
    fields += [(name, arrow.string()) for name in _ERROR]
    if rows:
        fields.append(("rows", arrow.list_(arrow.struct(list(_fields(arrow, Row))))))
    return arrow.schema(fields)


def _fields(arrow: Any, struct: type[msgspec.Struct]) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(struct):
        word = str(getattr(field.type, "__name__", field.type)).partition(" ")[0]
        if word in _TYPES:
            yield field.name, getattr(arrow, _TYPES[word])()


def _records(item: Item, done: Done, *, rows: bool) -> Iterator[dict[str, Any]]:
    for name, made in done.replays:
        record = {"file": name, **made.row()}
        yield record | ({"rows": msgspec.to_builtins(made.rows)} if rows else {})
    if done.failure is not None and (item.named or done.is_transcript):
        yield {"file": item.path} | dict(
            zip(_ERROR, (done.failure.code, done.failure.message), strict=True)
        )
