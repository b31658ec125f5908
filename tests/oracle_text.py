"""What the oracle says of single entries: joined turns, compact JSON, tool names, markers.

Written from DESIGN sections 3 and 5 ("Marker") alone and without `compactor`. Where the text leaves
something open, the line says `OPEN`.
"""

import json
import re
import string
from collections.abc import Sequence
from typing import Any

Entry = dict[str, Any]

RECALL_TOOLS = ("recall",)
WORD = set(string.ascii_letters + string.digits + "_")
ESCAPES = {'"': '\\"', "\\": "\\\\"} | {
    c: "\\" + n for c, n in zip("\b\f\n\r\t", "bfnrt", strict=True)
}


def merge(entries: Sequence[Entry]) -> list[Entry]:
    """Entries with adjacent assistant ones joined; `texts` keeps their parts apart."""
    merged: list[Entry] = []
    for entry in entries:
        if entry["kind"] == "assistant" and merged and merged[-1]["kind"] == "assistant":
            merged[-1]["texts"].append(entry.get("text") or "")
            merged[-1]["calls"].extend(entry.get("calls", []))
            continue
        copy = dict(entry, texts=[entry.get("text") or ""])
        copy["calls"] = list(entry.get("calls", []))
        merged.append(copy)
    return merged


def spell(value: Any) -> str:
    """A value read by `compact_json`, written with nothing that is not needed."""
    if isinstance(value, str):
        return '"' + "".join(map(escape, value)) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    if not isinstance(value, tuple):
        return json.dumps(value)
    kind, inner = value
    if kind == "number":
        return str(inner)
    return "{" + ",".join(spell(key) + ":" + spell(item) for key, item in inner) + "}"


def escape(char: str) -> str:
    """One character of a JSON string."""
    if char in ESCAPES:
        return ESCAPES[char]
    if ord(char) < 0x20 or 0xD800 <= ord(char) <= 0xDFFF:
        return f"\\u{ord(char):04x}"
    return char


def not_json(word: str) -> Any:
    """NaN and Infinity are no JSON."""
    raise ValueError(word)


def compact_json(text: str) -> str:
    """Arguments as they are counted: compact, numbers as spelled; no JSON counts as written."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda pairs: ("object", pairs),
            parse_int=lambda digits: ("number", digits),
            parse_float=lambda digits: ("number", digits),
            parse_constant=not_json,
        )
    except ValueError:
        return text
    return spell(value)


def call_of(merged: list[Entry], seq: int) -> Entry | None:
    """The call that a result answers."""
    found = None
    for entry in merged[:seq]:
        for call in entry["calls"]:
            if call["id"] == merged[seq]["call"]:
                found = call  # OPEN: an id used twice means the last call before the result
    return found


def listed(name: str, tools: Sequence[str]) -> bool:
    """Exactly, or after the last `__`."""
    return name in tools or name.rsplit("__", 1)[-1] in tools


def artifact_ids(body: str, kinds: Sequence[dict[str, Any]]) -> list[str]:
    """The first 8 distinct ids by appearance."""
    found: list[str] = []
    at = 0
    while at < len(body):
        for kind in kinds:
            end = at + len(kind["prefix"]) + kind["length"]
            tail = body[at + len(kind["prefix"]) : end]
            fits = body.startswith(kind["prefix"], at) and end <= len(body)
            # OPEN: `alphabet` is a plain list of characters, `0-9a-f` is no range in it
            fits = fits and all(char in kind["alphabet"] for char in tail)
            # OPEN: a kind with a bad neighbour is no match, so the next kind is tried here
            if fits and body[at - 1 : at] not in WORD and body[end : end + 1] not in WORD:
                found.append(body[at:end])
                at = end
                break
        else:
            at += 1
    return list(dict.fromkeys(found))[:8]


def reference(merged: list[Entry], seq: int) -> str:
    """What the marker tells the model to recall."""
    call = call_of(merged, seq) if merged[seq]["kind"] == "tool" else None
    # OPEN: recall tools also match after the last `__`, like the lists of the policy
    if call is None or not listed(call["name"], RECALL_TOOLS):
        return f"seq={seq}"
    try:
        # OPEN: a key given twice counts with its last value
        arguments = json.loads(call["arguments"], parse_constant=not_json)
    except ValueError:
        return f"seq={seq}"
    if not isinstance(arguments, dict):
        return f"seq={seq}"
    wanted, named = arguments.get("seq"), arguments.get("id")
    # OPEN: where `query` stands beside a good seq or id, these win; seq wins over id
    # OPEN: a negative seq is malformed, and one of over 18 digits (else a marker has no bound)
    if isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < 10**18:
        # The store may hold what this request no longer carries (bug file B59).
        return reference(merged, wanted) if wanted < seq else f"seq={wanted}"
    if isinstance(named, str) and re.fullmatch(r"#?[0-9a-fA-F]{1,8}", named):
        # OPEN: normalised = lower case, 4 digits at least; no id can be looked up without hygiene
        return f"#{int(named.lstrip('#'), 16):04x}"
    return f"seq={seq}"


def marker(merged: list[Entry], seq: int, row: Entry, recall: bool, kinds: list[Any]) -> str:
    """The text in place of an elided body."""
    entry = merged[seq]
    body, images = entry["texts"][0], entry.get("images", 0)
    name = "".join(c for c in row["name"] if c in WORD or c in ".:/@-")[:64] or "unknown"
    line = f"[elided {len(body)} chars"
    if images:
        line += f" and {images} image" + ("s" if images > 1 else "")
    line += " of " + ("failed " if row["failed"] else "") + name + " output"
    line += f" — recall {reference(merged, seq)}]" if recall else "]"
    ids = artifact_ids(body, kinds)
    while ids:
        whole = line + "[ artifact ids cited in it: " + ", ".join(ids) + "]"
        if len(whole) <= 400:
            return whole
        ids.pop()
    return line
