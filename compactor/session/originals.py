"""Entries as a session stores them: the exact text beside its other facts as JSON.

Specification: DESIGN sections 3 (seq) and 7 (Store).
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from compactor.core.model import Entry, Kind, PartKind


def text_of(entry: Entry) -> str:
    """What `recall` shows of an entry: a result's body, else its texts and calls."""
    if entry.kind is Kind.TOOL:
        return entry.body
    texts = [part.text for part in entry.parts if part.kind is PartKind.TEXT]
    return "\n".join([*texts, *(f"[{call.name}] {call.arguments}" for call in entry.calls)])


def to_json(entry: Entry) -> bytes:
    """Everything of an entry but a result's body, as JSON in ASCII.

    A step of an address that leads into a string of JSON is kept by its name.
    """
    value: dict[str, Any] = msgspec.to_builtins(entry, enc_hook=str)
    value.pop("body", None)
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def from_json(data: bytes, body: str) -> Entry:
    """The entry of `to_json`. Its addresses are those of a request that is gone."""
    value = json.loads(data)
    if value["kind"] == Kind.TOOL:
        value["body"] = body
    entry: Entry = msgspec.convert(value, Entry)
    return entry
