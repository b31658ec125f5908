"""A session: one conversation over one store, for as long as a harness needs it.

It gives results their ids when they are inserted, decides before each request, keeps every original
and shows it again. All that it knows is in the store. The same calls give the same bytes after a
crash or on another day. Specification: DESIGN section 7, docs/sessions.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import Any

import msgspec

from compactor.core import hygiene
from compactor.core.count import Counter
from compactor.core.errors import Finding, InputError, StoreError
from compactor.core.facts import insertion_key
from compactor.core.journal import Journal
from compactor.core.model import Call
from compactor.core.policy import Policy
from compactor.core.records import InsertionRecord, RecallOff
from compactor.core.settings import Forced
from compactor.loop import loop
from compactor.models import ModelTable
from compactor.numbers import context_numbers
from compactor.request import Asked, Outcome
from compactor.session import definitions, recalls, turns
from compactor.session.calls import call_of
from compactor.session.editing import Edited, Editor
from compactor.session.kept import Kept
from compactor.session.live_file import LiveFile
from compactor.session.readouts import readout
from compactor.session.requests import Requests
from compactor.session.state import Mark
from compactor.store import SqliteStore, Store, StoredResult, Transaction


class Session:
    """One conversation with its originals. Thread-safe; `AsyncSession` is the same for asyncio.

    Made by `Session.open`; a context manager that closes it.

    Attributes:
        id: name in the store.
        policy: what to keep and when to act.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        policy: Policy | None = None,
        *,
        format: str | None = None,  # noqa: A002
        counter: Counter | None = None,
        models: ModelTable | None = None,
        create: bool = True,
        context_dir: str | None = None,
        owns_store: bool = False,
    ) -> None:
        self.id = session_id
        self._format = format
        self._store = store
        self._owns_store = owns_store
        self._lock = threading.RLock()
        self._kept = Kept(store.session(session_id, create=create))
        policy = policy or Policy()
        self._requests = Requests(self._kept, session_id, policy, format, counter, models)
        self._file = LiveFile(self._kept, session_id, context_dir)
        self._forgets = False

    @classmethod
    def open(
        cls,
        store: str | FilePath | Store | None = None,
        session_id: str = "main",
        policy: Policy | None = None,
        *,
        format: str | None = None,  # noqa: A002
        counter: Counter | None = None,
        models: ModelTable | None = None,
        create: bool = True,
        context_dir: str | None = None,
    ) -> Session:
        """Open a session, or go on with it.

        Args:
            store: path of a SQLite file, a store that is open, or None for one that is gone when
                the session is closed.
            session_id: name of the session in the store.
            policy: from now on; a change since the last request is recorded.
            format: of requests; None looks at each.
            counter, models: as for `compactor.compact`.
            create: make file and session where there is none.
            context_dir: where the folder of the context file is made (`editing`); None takes the
                system's for temporary files, or that of a store that is gone with the session.

        Raises:
            StoreError: the file cannot be used, or there is no such session.
        """
        owns = store is None or isinstance(store, str | FilePath)
        opened: Store
        if store is None or isinstance(store, str | FilePath):
            opened = SqliteStore.open(store or ":memory:", create=create)
            context_dir = context_dir or opened.own_folder
        else:
            opened = store
        given = {"format": format, "counter": counter, "models": models, "create": create}
        given["context_dir"] = context_dir
        try:
            made = cls(opened, session_id, policy, owns_store=owns, **given)  # type: ignore[arg-type]
        except BaseException:
            if owns:
                opened.close()
            raise
        made._forgets = store is None
        return made

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the store, if this session opened it. What lies in a file is not lost."""
        with self._lock:
            if self._forgets:
                self._file.remove()
            if self._owns_store:
                self._store.close()

    def insert(
        self,
        call: Any,
        output: str | Sequence[Any],
        *,
        error: bool = False,
        read: Any = None,
        edits: Iterable[Any] = (),
        note: str | None = None,
    ) -> Any:
        """The text to put into a tool result: with its id, capped, or a stub for what is known.

        Args:
            call: the tool call as the provider gave it (id, name, arguments).
            output: what the tool gave: a text, or a list of native blocks.
            error: the call failed.
            read: what of which file a read shows: `path, resolved, first, last, total_lines`, and
                `content` (text or bytes) or `sha256`. With `content` and an empty output the
                session renders the lines itself.
            edits: changed files: `path, resolved, old, new`, None for a file that is not there.
            note: a line that the tool adds.

        Returns:
            a text, or blocks with the bracket in front, as `output` was. O(output), one write.

        Raises:
            InputError: `input.shape`.
            StoreError: it could not be stored; then nothing has changed.
        """
        asked = call_of(call)
        if not self.policy.hygiene:
            return self.after_call(call, output)
        given = hygiene.Insertion(
            tool=asked.name,
            arguments=asked.arguments,
            output=output,
            error=error,
            read=hygiene.read_of(read),
            edits=tuple(map(hygiene.change_of, edits)),
            note=note,
        )

        with self._lock:
            told = self._file.answer(self.editor) if self.policy.editing else ""
            return self._kept.write(lambda tx: self._inserted(tx, asked, given, told))

    def _inserted(self, tx: Transaction, asked: Call, given: hygiene.Insertion, told: str) -> Any:
        """Store a result and give its text, with what else the model is told at its end."""
        number = tx.next_number
        inserted = hygiene.insert(given, number, self._kept.book, loop())
        told = "\n".join(filter(None, [told, self._readout(tx, asked, inserted.body)]))
        shown, body = inserted.shown, inserted.body
        if told:
            output = hygiene.output_of(shown).noted(told)
            shown, body = output.native(), output.text
        tx.add_result(
            StoredResult(
                number=number,
                call_id=asked.id,
                tool=asked.name,
                arguments=asked.arguments,
                text=inserted.stored,
                searchable=inserted.facts.kind != "recall",
            )
        )
        self._kept.record(tx, InsertionRecord(insertion_key(asked.id, body), inserted.facts))
        return shown

    def prepare(
        self,
        request: Any,
        *,
        overflowed: bool = False,
        cold: bool = False,
        failed: Iterable[str] = (),
        explain: bool = False,
        place_breakpoints: bool = False,
        policy: Policy | None = None,
    ) -> Outcome:
        """The request as it should be sent; all that is new in it is stored first.

        Args:
            request: as for `compactor.compact`: a body, messages, or a `Transcript`.
            overflowed: the provider refused this very request as too long.
            cold: the provider's cache has expired.
            failed: ids of calls that failed, beside the format's own flags.
            explain: also say the fate of every entry.
            place_breakpoints: set cache breakpoints.
            policy: from now on.

        Returns:
            as `compactor.compact`; seqs are the session's.

        Raises:
            CompactorError: as `compactor.compact`.
            StoreError: it could not be stored; then nothing has changed.
        """
        asked = Asked(
            overflowed=overflowed,
            cold=cold,
            failed=tuple(failed),
            fates=explain,
            breakpoints=place_breakpoints,
        )
        with self._lock:
            self._requests.policy = policy or self.policy
            return self._with_file(self._requests.prepare(request, asked))

    def observe(self, request: Any) -> None:
        """Store what is new in a request, and decide nothing."""
        with self._lock:
            self._requests.observe(request)

    def compact_now(
        self, request: Any, *, cutoff: int, elide: Iterable[int | str] | None = None
    ) -> Outcome:
        """A pass because the caller wants it, whatever it is worth.

        Args:
            cutoff: seq where the recent region begins; results from there on stay.
            elide: seqs or ids of the results to elide; None for all that may go.
        """
        with self._lock:
            self.observe(request)
            wanted = None if elide is None else tuple(map(self.index_of, elide))
            forced = Forced(self._kept.position(cutoff), wanted)
            return self._with_file(self._requests.prepare(request, Asked(forced=forced)))

    def recall(
        self,
        *,
        seq: int | None = None,
        id: str | None = None,  # noqa: A002
        query: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
        call_id: str = "",
    ) -> str:
        """An original again: by `seq` verbatim, by `id` in windows of lines, by `query` ranked.

        Args:
            offset: first line to show, from 1; limit: how many lines, at most 2000.
            call_id: of the call that asks, so that its result is known when it comes back.

        Raises:
            InputError: not exactly one of seq, id and query.
            StoreError: `recall.off`, and `recall.unknown` for a seq.
        """
        with self._lock:
            window = recalls.Window(offset, limit)
            return recalls.recall(self._kept, seq, id, query, window, call_id)

    def call(self, name: str, arguments: Any, *, call_id: str = "") -> str:
        """The answer to a call of one of `tools()`.

        Args:
            arguments: a mapping, or its JSON.

        Returns:
            the text of the tool result; what the model did wrong is said in it.

        Raises:
            InputError: no such tool.
        """
        with self._lock:
            return definitions.answer(
                self._kept, self.editor, self.policy, name, arguments, call_id
            )

    def tools(self, format: str | None = None) -> list[dict[str, Any]]:  # noqa: A002
        """Definitions of the session's tools in the shape of a format's requests."""
        return definitions.tools(format or self._format or "anthropic", self.policy)

    def prompt(self) -> str:
        """What the system prompt should tell the model about ids, markers and recall."""
        with self._lock:
            self._kept.refresh()
            path = self._file.path() if self.policy.editing else ""
            is_recallable = not self._kept.state.recall_off
            return definitions.prompt(self.policy, recallable=is_recallable, path=path)

    def before_request(self) -> str:
        """Write the context file; `prepare` does it too when editing is on.

        A change that was made outside a call is recorded as declined.

        Returns:
            its path.

        Raises:
            StoreError: `store.unwritable`.
        """
        with self._lock:
            return self._file.write(self.editor)

    def after_call(self, call: Any, result: Any) -> Any:
        """The result of a call with what it did to the context file, and how full the window is.

        For harnesses that do not insert results here; `insert` does it by itself.

        Args:
            result: a text or blocks.
        """
        asked = call_of(call)
        with self._lock:
            if not self.policy.editing:
                return result
            told = self._file.answer(self.editor)
            output = hygiene.output_of(result)

            def write(tx: Transaction) -> Any:
                said = "\n".join(filter(None, [told, self._readout(tx, asked, output.text)]))
                if not said:
                    return result
                noted = output.noted(said)
                facts = self._kept.facts_of(asked.id, output.text)
                if facts is not None:
                    key = insertion_key(asked.id, noted.text)
                    self._kept.record(tx, InsertionRecord(key, facts))
                return noted.native()

            return self._kept.write(write)

    @property
    def editor(self) -> Editor:
        """Edits of the context, for the tools and for a person."""
        return Editor(
            self._kept, self._requests.stand, protect_first_user=self.policy.protect_first_user
        )

    def apply_file(self, text: str | None = None, *, during_call: bool = True) -> Edited:
        """Make the changes that the context file shows.

        Args:
            text: of the file; None reads it.
            during_call: False declines them: only what a call changes is applied.

        Raises:
            EditError: they were refused; the file is written anew.
        """
        with self._lock:
            return self._file.apply(self.editor, text, during_call=during_call)

    def delete(self) -> None:
        """Remove the session with all its originals, and its context file. For good."""
        with self._lock:
            self._kept.refresh()
            self._store.delete(self.id)
            self._file.remove()

    def summarised(self, text: str, upto: int | None = None) -> str:
        """Show a summary instead of everything below a seq; results can still be recalled.

        Args:
            text: what the harness summarised.
            upto: first seq that stays in view; None hides all entries so far. A call is never
                parted from its results.

        Returns:
            summary and table of the files read, as the model sees it.
        """

        def write(tx: Transaction) -> str:
            return turns.summarise(self._kept, tx, text, upto, self._requests.settled(tx))

        with self._lock:
            return self._kept.write(write)

    def mark(self) -> Mark:
        """A place to rewind to: what stands now."""
        with self._lock:
            return self._kept.write(lambda tx: turns.mark(self._kept, self._requests.begun(tx)))

    def rewind(self, to: int | Mark) -> None:
        """Take back turns: entries from a seq on, or all since a mark, and what they led to.

        Raises:
            InputError: `input.shape` for a mark of another branch.
        """
        with self._lock:
            self._kept.write(lambda tx: turns.rewind(self._kept, tx, to, self._requests.begun(tx)))

    def pin(self, *seqs: int) -> None:
        """Keep entries verbatim from the next request on."""
        with self._lock:
            self._kept.write(lambda tx: self._kept.put(tx, self._kept.state.pinned(seqs)))

    def was_read(self, path: str) -> bool:
        """Whether a file (by its resolved path) was read or written in turns that still stand."""
        with self._lock:
            self._kept.refresh()
            gone = self._kept.taken_back()
            return self._kept.book.was_read(hygiene.identity(path), gone)

    def disable_recall(self) -> None:
        """Promise no recall from now on, and refuse it. One way."""

        def write(tx: Transaction) -> None:
            if self._kept.state.recall_off:
                return
            if self._requests.begun(tx):
                self._kept.record(tx, RecallOff(len(self._kept.branch)))
            self._kept.put(tx, self._kept.state.without_recall())
            self._kept.then(self._kept.forget)

        with self._lock:
            self._kept.write(write)

    def record_usage(self, usage: Any) -> None:
        """Keep what the provider counted for the last request. Decides nothing by itself.

        Args:
            usage: `response.usage` of any provider, or a mapping of its shape.
        """
        last = self._requests.last
        estimate = last.report.tokens_after if last is not None else 0
        with self._lock:
            self._kept.write(
                lambda tx: self._kept.put(tx, self._kept.state.with_usage(usage, estimate))
            )

    def context(self) -> dict[str, Any]:
        """What fills the window, as `compactor context --json` says it, and recorded usage."""
        with self._lock:
            fold, last = self._kept.fold(), self._requests.last
            if last is None or fold is None:
                raise InputError(
                    "no request was prepared yet", code="input.shape", hint="call prepare first"
                )
            numbers = context_numbers(last.report, fold, self._kept.records)
            return numbers | {"usage": self._kept.state.usage_numbers()}

    @property
    def policy(self) -> Policy:
        return self._requests.policy

    @property
    def journal(self) -> Journal:
        """The records so far."""
        with self._lock:
            self._kept.refresh()
            return Journal(self._kept.records)

    @property
    def kept(self) -> Kept:
        """What the session knows, for the parts of it that live in other modules."""
        return self._kept

    def index_of(self, name: int | str) -> int:
        """Index in the branch of an entry that is named by seq or by hygiene id.

        Raises:
            StoreError: `recall.unknown`.
        """
        number = hygiene.parse_id(name) if isinstance(name, str) else None
        for index, seq in enumerate(self._kept.branch.seqs):
            if seq == name and not isinstance(name, str):
                return index
            if number is not None:
                facts = self._kept.facts_at(index)
                if facts is not None and facts.number == number:
                    return index
        raise StoreError(f"no entry {name!r} is on the live branch", code="recall.unknown")

    def _with_file(self, outcome: Outcome) -> Outcome:
        """Write the context file for a request that is stored; that it cannot be is a finding."""
        if not self.policy.editing:
            return outcome
        try:
            self._file.write(self.editor)
        except StoreError as error:
            found = Finding("context_file_not_written", error.message, error.path)
            report = outcome.report
            report = msgspec.structs.replace(report, findings=(*report.findings, found))
            return msgspec.structs.replace(outcome, report=report)
        return outcome

    def _readout(self, tx: Transaction, asked: Call, body: str) -> str:
        if not self.policy.editing:
            return ""
        return readout(self._kept, self._requests.stand(), self.policy, tx, asked, body)
