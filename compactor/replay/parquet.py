"""Results as Parquet (the extra `ray`): the same bytes by any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, Final

import msgspec

from compactor.replay.many import Done, Item
from compactor.replay.remote import package
from compactor.replay.simulate import Row
from compactor.replay.sums import Replay


def parquet(found: Sequence[tuple[Item, Done]], *, rows: bool) -> bytes:
    """Results as a Parquet file, a row a recording and policy, and one a failure, in order.

    Args:
        rows: with a list of requests in each.

    Raises:
        PolicyError: `policy.not_installed`.
    """
    arrow, writer = package("pyarrow"), package("pyarrow.parquet")
    records = [record for item, done in found for record in _records(item, done, rows=rows)]
    stream = BytesIO()
    writer.write_table(arrow.Table.from_pylist(records, schema=_schema(arrow, rows=rows)), stream)
    return stream.getvalue()


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
        more = {"rows": msgspec.to_builtins(made.rows)} if rows else {}
        yield _valid({"file": name, **made.row()}) | more
    failure = done.failed(item)
    if failure is not None:
        error = (failure.code, failure.message)
        yield _valid({"file": item.path, **dict(zip(_ERROR, error, strict=True))})


def _valid(record: dict[str, Any]) -> dict[str, Any]:
    """What UTF-8 cannot hold, as in the name of a file that is none, spelled out."""
    return {key: _utf8(value) if isinstance(value, str) else value for key, value in record.items()}


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
