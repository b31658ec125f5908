"""What may go under the rules in force: which results, which strings of a call's arguments.

Sees one entry at a time and never what else is in the conversation; `fold` keeps what this says,
`plan` chooses among it. Specification: DESIGN sections 4 and 5.
"""

from __future__ import annotations

from compactor.core.candidates import Candidate, Work
from compactor.core.count import Measure
from compactor.core.facts import Facts
from compactor.core.inputs import Inputs
from compactor.core.marker import MarkerWriter
from compactor.core.model import Entry, Kind
from compactor.core.policy import Rules, named
from compactor.core.table import TableWriter
from compactor.core.texts import Loop


class Eligible:
    """The rules as they bear on single entries.

    Args:
        work: counts the markers written.

    Attributes:
        rules: in force.
        failed: ids of calls that the caller says have failed.
        writer, tables: write the markers and the tables.
    """

    def __init__(self, loop: Loop, measure: Measure, rules: Rules, work: Work) -> None:
        self.failed: set[str] = set()
        self.tables = TableWriter(loop)
        self._loop = loop
        self._measure = measure
        self._work = work
        self.use(rules)

    def use(self, rules: Rules) -> None:
        """Other rules from now on."""
        self.rules = rules
        self.writer = MarkerWriter(self._loop, rules.artifact_ids)
        self._pins = frozenset(rules.pins)

    def kept_by_rule(self, entry: Entry, label: int) -> str:
        """Why a result may not go whatever its size: "" when it may."""
        if entry.required:
            return "required"
        if label in self._pins:
            return "pinned"
        if named(self._tool(entry), self.rules.protected_tools):
            return "protected"
        return ""

    def candidate(
        self, seq: int, entry: Entry, tokens: int, label: int, ref: str, facts: Facts | None
    ) -> Candidate | None:
        """A result that could go, whatever that saves; None for what must stay as it is.

        Args:
            entry: as it stands in the view, tokens: of it.
            ref: how to recall it.
            facts: of its insertion.
        """
        if entry.kind is not Kind.TOOL or entry.empty or self.kept_by_rule(entry, label):
            return None
        if facts is not None and facts.is_stub:
            return None
        self._work.rendered += 1
        failed = self._has_failed(entry)
        is_evidence = failed or named(self._tool(entry), self.rules.evidence_tools)
        marker = self.writer.write(entry, failed, ref, facts)
        gain = tokens - self._measure.rewritten(marker.longer)
        read = self.tables.read(entry, failed, label, facts)
        if read is not None:
            gain -= self._measure.text(read.row)
        return Candidate(seq, tokens, gain, is_evidence, marker, read)

    def inputs(self, entry: Entry, label: int) -> Inputs | None:
        """The strings of a turn's calls that could go; None where too few."""
        rules = self.rules
        if not rules.elide_inputs or label in self._pins:
            return None
        kept = (*rules.protected_tools, *rules.evidence_tools)
        calls = [i for i, call in enumerate(entry.calls) if not named(call.name, kept)]
        return self.writer.inputs(entry, calls, label, self._measure, rules.min_gain)

    def _has_failed(self, entry: Entry) -> bool:
        return entry.error or entry.call_id in self.failed

    def _tool(self, entry: Entry) -> str:
        """The name that lists of tools mean: `unknown` where no call is known."""
        return entry.name if entry.call is not None else self._loop.marker.name_unknown
