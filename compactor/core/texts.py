"""The shape of `loop.json`: every text we write and every number that changes output bytes.

The core takes a `Loop` as a value; `compactor/loop.py` reads it from the file that ships. Keys are
the seeds' own spelling. Notes (`_note`) are for people and are ignored here.
"""

from __future__ import annotations

from typing import Any

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
    tariff: tuple[int, int]
    outlook: tuple[int, int]
    waiting: int
    priced_min_freed_divisor: int


class MarkerTexts(msgspec.Struct, frozen=True):
    """The marker's pieces and caps (DESIGN section 5, Marker)."""

    elided: str
    media: str
    count: str
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
    input: str
    input_chars: int


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


class IdNumbers(msgspec.Struct, frozen=True):
    """How many hex digits a hygiene id has at least."""

    digits: int


class BracketTexts(msgspec.Struct, frozen=True):
    """The first line of an inserted result, by what it shows (seed 000, sections 1, 4 and 5).

    file: a changed file, or one whose lines are not known; part: one file of several.
    """

    result: str
    read: str
    empty: str
    file: str
    deleted: str
    part: str
    part_deleted: str
    recall: str
    recall_empty: str


class StubTexts(msgspec.Struct, frozen=True):
    """What stands in the place of a text that is before the model already."""

    read: str
    empty: str
    same: str
    gone: str


class CapNumbers(msgspec.Struct, frozen=True):
    """When output is capped, what is kept of it, and what is said of the rest (section 3)."""

    max_lines: int
    max_chars: int
    head_lines: int
    head_chars: int
    tail_lines: int
    tail_chars: int
    elided: str
    cut: str


class RecallWindow(msgspec.Struct, frozen=True):
    """How much a recall by id shows, and what it says where there is nothing to show."""

    lines: int
    unknown: str
    past_end: str
    asked_chars: int


class ReadWindow(msgspec.Struct, frozen=True):
    """How much a read shows, and how the session renders it."""

    lines: int
    line: str
    past_end: str


class EditTexts(msgspec.Struct, frozen=True):
    """What an edit is answered with.

    lines: of context around a change.
    work: steps in which a diff looks for the shortest one.
    """

    created: str
    created_binary: str
    unchanged: str
    lines: int
    work: int
    no_newline: str


class Dedupe(msgspec.Struct, frozen=True):
    """Tools whose results are compared with earlier ones of the same call."""

    by_result: tuple[str, ...]


class SummaryTable(msgspec.Struct, frozen=True):
    """The table under a summary: at most so many rows."""

    rows: int
    heading: str


class PromptTexts(msgspec.Struct, frozen=True):
    """What the model is told; `recall` follows where it can recall."""

    lines: tuple[str, ...]
    recall: tuple[str, ...]


class ContextTexts(msgspec.Struct, frozen=True):
    """Hygiene on insertion (seed 000, DESIGN section 7, docs/sessions.md)."""

    ids: IdNumbers
    sha_digits: int
    path_chars: int
    path_cut: str
    binary: str
    brackets: BracketTexts
    stubs: StubTexts
    cap: CapNumbers
    recall: RecallWindow
    read: ReadWindow
    edit: EditTexts
    dedupe: Dedupe
    compaction: SummaryTable
    prompt: PromptTexts


class ConversionTexts(msgspec.Struct, frozen=True):
    """What a conversation that is written in another format says of its own (docs/convert.md).

    begins: where the person must speak first and did not.
    left_out: in the place of what the format has no words for.
    orphan: before the text of a result that can be none.
    media: before media of a result that stand in a message behind it.
    unanswered: the result of a call that has none, where one is asked for.
    system: a system message as one of the person.
    arguments: the key of arguments that are no object.
    call_id: of a call that has none.
    signature: in the place of a signature that the model's provider would have given.
    document: beside a document, where a provider wants a text there.
    """

    begins: str
    left_out: str
    orphan: str
    media: str
    unanswered: str
    system: str
    arguments: str
    call_id: str
    signature: str
    document: str


class TokenNumbers(msgspec.Struct, frozen=True):
    per_entry: int
    image_max: int
    document: int
    opaque_numerator: int
    opaque_denominator: int


class ToolText(msgspec.Struct, frozen=True):
    """A tool that a session offers. parameters: JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class EditingTexts(msgspec.Struct, frozen=True):
    """What stands for what the model removed from its context (seed 004, DESIGN section 8)."""

    tombstone: str
    tombstone_bare: str
    reasons: str
    reason_chars: int
    sections: str
    section: str
    stands_for: str
    protected: str
    freed: str
    added: str
    gone: str
    separator: str
    same: str
    original: str
    recall_chars: int
    cut: str
    readout: str
    readout_code: str
    refused: str
    lost: str
    applied: str
    needs: str
    prompt: tuple[str, ...]
    prompt_file: tuple[str, ...]
    remind_at: tuple[int, ...]
    last_margin: int


class SearchTexts(msgspec.Struct, frozen=True):
    """What a recall by words answers."""

    hit: str
    line: str
    total: str
    nothing: str
    common: str


class SessionTools(msgspec.Struct, frozen=True):
    """The tools of sessions."""

    recall: ToolText
    context_sections: ToolText
    context_tombstone: ToolText
    context_replace: ToolText
    context_rewrite: ToolText
    context_recall: ToolText
    context_diff: ToolText


class Loop(msgspec.Struct, frozen=True):
    """All of `loop.json`."""

    ruleset: int
    compaction: CompactionNumbers
    marker: MarkerTexts
    reasoning: ReasoningTexts
    recall: RecallTexts
    table: TableTexts
    reads: ReadTools
    context: ContextTexts
    conversion: ConversionTexts
    tokens: TokenNumbers
    editing: EditingTexts
    search: SearchTexts
    tools: SessionTools
