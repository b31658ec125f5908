"""The shape of `loop.json`: every text we write and every number that changes output bytes.

The core takes a `Loop` as a value; `compactor/loop.py` reads it from the file that ships. Keys are
the seeds' own spelling. Notes (`_note`) are for people and are ignored here.
"""

from __future__ import annotations

import msgspec


class ArtifactId(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of id that markers salvage: `prefix`, then exactly `length` characters of `alphabet`.

    alphabet: characters, with ranges as in `0-9a-f`; a `-` at either end stands for itself.
    """

    prefix: str
    alphabet: str
    length: int


class CompactionNumbers(
    msgspec.Struct,
    frozen=True,
    rename={
        "keep_recent": "keepRecent",
        "aggressive_keep_recent": "aggressive_keepRecent",
        "min_gain": "minGain",
        "evidence_tools": "evidenceTools",
        "artifact_ids": "artifactIds",
    },
):
    """Defaults and divisors of the policy (DESIGN section 4)."""

    reserve_tenths: int
    keep_recent: int
    aggressive_keep_recent: int
    evidence_divisor: int
    aggressive_divisor: int
    min_freed_divisor: int
    limit_divisor: int
    min_gain: int
    evidence_tools: tuple[str, ...]
    artifact_ids: tuple[ArtifactId, ...]


class MarkerTexts(msgspec.Struct, frozen=True):
    """The marker's pieces and caps (DESIGN section 5, Marker)."""

    elided: str
    media: str
    image: tuple[str, str]
    document: tuple[str, str]
    other: tuple[str, str]
    failed: str
    recall: str
    ref_seq: str
    ref_id: str
    ids: str
    ids_separator: str
    ids_max: int
    chars_max: int
    name_chars: int
    name_unknown: str


class RecallTexts(msgspec.Struct, frozen=True):
    tools: tuple[str, ...]
    id_digits: int


class ReasoningTexts(msgspec.Struct, frozen=True):
    """What happens to signed reasoning (DESIGN section 5)."""

    removed: str
    header: tuple[str, str]
    binding: dict[str, str]


class TableTexts(msgspec.Struct, frozen=True):
    """The table of files read (DESIGN section 5, File-read table)."""

    heading: str
    sentence: str
    columns: str
    rule: str
    row: str
    all: str
    rows: int
    path_chars: int
    cut: str


class ReadTool(msgspec.Struct, frozen=True):
    """How some tools say which lines of which file they read: names of their arguments.

    first, last, count: of the first line, the last line, how many lines; of several names the first
        that the call gives holds.
    range: of a `[first, last]` pair.
    base: what the first line of a file is counted as.
    unclear: arguments that say the lines in a way that we do not read.
    when: what other arguments must be.
    """

    tools: tuple[str, ...]
    path: str
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    range: str = ""
    base: int = 1
    unclear: tuple[str, ...] = ()
    when: dict[str, str] = {}


class ReadTools(msgspec.Struct, frozen=True):
    tools: tuple[ReadTool, ...]


class TokenNumbers(msgspec.Struct, frozen=True):
    per_entry: int
    image_max: int
    document: int
    opaque_numerator: int
    opaque_denominator: int


class Loop(msgspec.Struct, frozen=True):
    """All of `loop.json`."""

    ruleset: int
    compaction: CompactionNumbers
    marker: MarkerTexts
    reasoning: ReasoningTexts
    recall: RecallTexts
    table: TableTexts
    reads: ReadTools
    tokens: TokenNumbers
