"""The line that stands where a result was: `[elided N chars of NAME output — recall seq=61][ …]`.

The only place that turns a result into marker text. Everything that comes from the result is capped
and filtered, because the model reads a marker as trusted harness text: the tool's name loses every
character outside a plain set, ids match a fixed kind, and 400 characters cover all. Nothing is ever
decided by reading a marker back. Specification: DESIGN section 5, Marker; seed 002.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compactor.core.arguments import strings
from compactor.core.count import Measure
from compactor.core.facts import Facts
from compactor.core.inputs import Inputs, Text, saved
from compactor.core.model import Call, Entry, Part, PartKind, plain_arguments
from compactor.core.policy import alphabet_of, named
from compactor.core.texts import ArtifactId, Loop, MarkerTexts

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:/@-]")
_ID = re.compile(r"#?([0-9a-fA-F]{1,8})")
_ECHO = re.compile(r"\[elided [0-9]{1,20} chars[^\]\n]{0,400} output")
_SEQS = 10**18
"""No seq is as large; a larger one is malformed, so that a marker has a bound."""


class Marker(NamedTuple):
    """A result's marker in both forms."""

    plain: str
    recallable: str

    @property
    def longer(self) -> str:
        """The form that gains are measured with: `recallable`, unless a cap cost it an id."""
        return max(self.recallable, self.plain, key=len)

    def form(self, recallable: bool) -> str:
        return self.recallable if recallable else self.plain


class MarkerWriter:
    """Writes markers under one set of artifact ids.

    Args:
        loop: texts and caps.
        artifact_ids: kinds of ids, in policy order.
    """

    def __init__(self, loop: Loop, artifact_ids: tuple[ArtifactId, ...]) -> None:
        self._texts = loop.marker
        self._recall = loop.recall
        self._table = loop.table
        self._ids = _id_pattern(artifact_ids)

    def write(self, entry: Entry, error: bool, ref: str, facts: Facts | None = None) -> Marker:
        """The marker of a tool entry, under its bracket where it has one. O(its body).

        Args:
            error: the entry's error flag, the caller's `failed` included.
            ref: how to recall it (`reference`).
            facts: of its insertion.
        """
        texts, head, body = self._texts, "", entry.body
        if facts is not None:
            head, body = self.bracket(body, facts) + "\n", body[facts.bracket + 1 :]
        ids = self._cited(body)
        recall = texts.recall.format(ref=ref)
        lines = (self._line(entry, len(body), error, said) for said in ("", recall))
        return Marker(*(head + _with_ids(line, ids, texts) for line in lines))

    def inputs(
        self, entry: Entry, calls: Sequence[int], seq: int, measure: Measure, min_gain: int
    ) -> Inputs | None:
        """The long strings of some calls of a turn, and their markers; None where too few.

        Args:
            calls: indexes of those that may go.
            seq: of the turn, for its recall.
        """
        texts, recall = (
            self._texts,
            self._texts.recall.format(ref=self._texts.ref_seq.format(seq=seq)),
        )
        plain: list[Text] = []
        recallable: list[Text] = []
        for index in calls:
            call = entry.calls[index]
            for found in strings(call.arguments, texts.input_chars):
                ids = self._cited(found.text)
                name = _NOT_IN_NAMES.sub("", call.name)[: texts.name_chars] or texts.name_unknown
                steps = ".".join(map(str, found.path))
                key = _NOT_IN_NAMES.sub("", steps)[: texts.name_chars] or texts.name_unknown
                for form, said in ((plain, ""), (recallable, recall)):
                    line = texts.input.format(
                        chars=len(found.text), name=name, key=key, recall=said
                    )
                    form.append((index, found.path, _with_ids(line, ids, texts)))
        if not plain:
            return None
        gain = saved(entry, recallable, measure)
        return Inputs(tuple(plain), tuple(recallable), gain) if gain >= min_gain else None

    def bracket(self, body: str, facts: Facts) -> str:
        """The bracket of a body as an elision keeps it: a long path keeps its end."""
        head, limit, cut = body[: facts.bracket], self._table.path_chars, self._table.cut
        if len(facts.path) <= limit:
            return head
        return head.replace(facts.path, cut + facts.path[len(cut) - limit :], 1)

    def reference(
        self, entry: Entry, seq: int, earlier: Mapping[int, str], facts: Facts | None = None
    ) -> str:
        """How to recall an entry: `seq=61` or `#0012`, or the original's where it was a recall.

        Args:
            earlier: references of the earlier results that were recalls, by seq.
            facts: of its insertion.
        """
        call = entry.call
        if facts is not None:
            return self._of_facts(facts)
        own = self._texts.ref_seq.format(seq=seq)
        if call is None or not named(call.name, self._recall.tools):
            return own
        return self._recalled(call, seq, earlier) or own

    def _of_facts(self, facts: Facts) -> str:
        if facts.root_seq is not None:
            return self._texts.ref_seq.format(seq=facts.root_seq)
        return self._id(facts.root or facts.number)

    def _id(self, number: int) -> str:
        return self._texts.ref_id.format(id=f"{number:0{self._recall.id_digits}x}")

    def is_echo(self, arguments: str) -> bool:
        """Whether a call's arguments hold a marker: the model copied one, mostly into a file."""
        start = self._texts.elided.partition("{")[0]
        return start in arguments and _ECHO.search(arguments) is not None

    def is_recall(self, entry: Entry) -> bool:
        return entry.call is not None and named(entry.call.name, self._recall.tools)

    def _recalled(self, call: Call, seq: int, earlier: Mapping[int, str]) -> str:
        """What a recall call named, normalised; "" for a query or malformed arguments."""
        arguments = plain_arguments(call)
        target = arguments.get("seq")
        if isinstance(target, int) and not isinstance(target, bool) and 0 <= target < _SEQS:
            root = earlier.get(target) if target < seq else None
            return root or self._texts.ref_seq.format(seq=target)
        named_id = arguments.get("id")
        match = _ID.fullmatch(named_id) if isinstance(named_id, str) else None
        if match is None:
            return ""
        return self._id(int(match.group(1), 16))

    def _line(self, entry: Entry, chars: int, error: bool, recall: str) -> str:
        texts = self._texts
        name = _NOT_IN_NAMES.sub("", entry.name)[: texts.name_chars] or texts.name_unknown
        return texts.elided.format(
            chars=chars,
            media=_media(entry, texts),
            failed=texts.failed if error else "",
            name=name,
            recall=recall,
        )

    def _cited(self, body: str) -> list[str]:
        """The first distinct ids of a body, by appearance. Linear; stops when it has enough."""
        found: dict[str, None] = {}
        if self._ids is None:
            return []
        for match in self._ids.finditer(body):
            found[match.group()] = None
            if len(found) == self._texts.ids_max:
                break
        return list(found)


def _id_pattern(kinds: tuple[ArtifactId, ...]) -> re.Pattern[str] | None:
    """One alternative a kind, each with its own neighbours, so that policy order decides."""
    alternatives = [
        f"{re.escape(kind.prefix)}[{re.escape(alphabet_of(kind))}]{{{kind.length}}}(?![0-9A-Za-z_])"
        for kind in kinds
    ]
    return re.compile(f"(?<![0-9A-Za-z_])(?:{'|'.join(alternatives)})") if kinds else None


def _with_ids(line: str, ids: list[str], texts: MarkerTexts) -> str:
    """Line and ids within the cap; whole ids fall from the end."""
    for count in range(len(ids), 0, -1):
        whole = line + texts.ids.format(ids=texts.ids_separator.join(ids[:count]))
        if len(whole) <= texts.chars_max:
            return whole
    return line


def _media(entry: Entry, texts: MarkerTexts) -> str:
    return "".join(texts.media.format(media=words) for words in media_words(entry.parts, texts))


def media_words(parts: Sequence[Part], texts: MarkerTexts) -> list[str]:
    """How many images, documents and other parts there are, in words: `2 images`."""
    nouns = (
        (PartKind.IMAGE, texts.image),
        (PartKind.DOCUMENT, texts.document),
        (PartKind.OTHER, texts.other),
    )
    counts = ((sum(part.kind is kind for part in parts), words) for kind, words in nouns)
    return [
        texts.count.format(count=count, noun=one if count == 1 else many)
        for count, (one, many) in counts
        if count
    ]
