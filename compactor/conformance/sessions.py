"""Sessions over the protocol: the steps of `session` cases, and each step as an operation.

The session itself is `compactor.Session`; this file keeps the entries that the steps add, so that
`prepare` has a request to hand over, as a harness would. In a store that stays they are stored as
they come, and another process goes on with them. Specification: CONFORMANCE, `session`.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from compactor.core.errors import CompactorError, EditError, InputError
from compactor.core.hygiene import parse_id, shown_id
from compactor.core.model import Kind
from compactor.core.policy import policy_from
from compactor.formats.entries import to_neutral
from compactor.formats.raw.native import compact_json
from compactor.loop import loop
from compactor.session import Mark, Session, context_file
from compactor.session.editing import Edited
from compactor.store import SqliteStore, Store

Step = Mapping[str, Any]
Answer = dict[str, Any]

DEFAULT = {"window": 200_000, "counter": "chars4"}
"""The policy of a session that no step opened."""


class Sessions:
    """The sessions of one run of the protocol, by name.

    Args:
        path: of a store file that stays; None for one that goes when the run ends.

    Raises:
        StoreError: the file cannot be used.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._store: Store | None = SqliteStore.open(path) if path else None
        self._talks: dict[str, Talk] = {}

    def step(self, name: str, op: str, step: Step) -> Answer:
        """Do one step of a session.

        Raises:
            CompactorError: what the step refuses.
        """
        if op == "open":
            policy = step.get("policy") or {}
            self._end(name)
            self._talks[name] = self._talk(name, policy)
            return {}
        if op == "delete":
            (self._talks.pop(name, None) or self._talk(name, DEFAULT)).delete()
            return {}
        talk = self._talks.get(name)
        if talk is None:
            talk = self._talks[name] = self._talk(name, DEFAULT)
        return talk.do(op, step)

    def run(self, policy: Mapping[str, Any] | None, steps: list[Any]) -> list[Answer]:
        """The answers to steps of one new session, which is gone afterwards."""
        if self._path is not None:  # none of those that stay
            own = Sessions()
            try:
                return own.run(policy, steps)
            finally:
                own.close()
        name, answers = f"case-{len(self._talks)}", []
        self.step(name, "open", {"policy": DEFAULT if policy is None else policy})
        for index, step in enumerate(steps):
            if not isinstance(step, dict) or not isinstance(step.get("op"), str):
                raise _shape(f"steps[{index}]", "a step is an object with an op")
            given = {key: value for key, value in step.items() if key != "op"}
            check(step["op"], given, f"steps[{index}].")
            try:
                answers.append(self.step(name, step["op"], given))
            except CompactorError as error:
                answers.append(refusal(error))
        talk = self._talks.pop(name, None)
        if talk is not None:
            talk.delete()
        return answers

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = SqliteStore.open(":memory:")
        return self._store

    def _talk(self, name: str, policy: Mapping[str, Any]) -> Talk:
        return Talk(self.store, name, policy, stays=self._path is not None)

    def close(self) -> None:
        """Give up all sessions; without a file nothing is left of them."""
        for name in list(self._talks):
            if self._path is None:
                self.step(name, "delete", {})
            else:
                self._end(name)
        if self._store is not None:
            self._store.close()

    def _end(self, name: str) -> None:
        talk = self._talks.pop(name, None)
        if talk is not None:
            talk.session.close()


class Talk:
    """One session and the entries that its steps have added.

    Args:
        stays: every entry is stored when it comes, and those of an earlier process are taken up.
    """

    def __init__(self, store: Store, name: str, policy: Mapping[str, Any], *, stays: bool) -> None:
        self._store = store
        self._name = name
        self._settings = {"overheadTokens": 0, **policy}
        self._stays = stays
        self._prepared = False
        self._file = ""
        self.session = self._open()
        kept = self.session.kept
        self.entries = [_without_defaults(entry) for entry in to_neutral(kept.entries())]
        self._calls = kept.next_seq  # no fewer than the calls that there were

    def do(self, op: str, step: Step) -> Answer:
        """One step; see `STEPS`."""
        answer = STEPS[op](self, step)
        if self._stays and op in ("append", "insert"):
            self._observe()
        return answer

    def append(self, step: Step) -> Answer:
        entry = step["entry"]
        if entry.get("kind") not in ("user", "assistant", "system"):
            raise _shape("entry.kind", "user, assistant or system was expected")
        self.entries.append({"calls": [], **entry} if entry["kind"] == "assistant" else entry)
        return {}

    def insert(self, step: Step) -> Answer:
        """A result, with its call. Where it is refused, neither is there."""
        count, turn = len(self.entries), self._last_turn()
        calls = None if turn is None else turn["calls"]
        try:
            return self._inserted(step)
        except CompactorError:
            del self.entries[count:]
            if turn is not None:
                turn["calls"] = calls
            raise

    def _inserted(self, step: Step) -> Answer:
        call = self._called(step)
        if self.session.policy.editing:
            self._observe()
        read = _read(step.get("read"))
        output = step.get("output")
        shown = self.session.insert(
            call,
            "" if output is None else output,
            error=bool(step.get("error")),
            read=read,
            edits=[_edit(edit) for edit in step.get("edits") or ()],
            note=step.get("note"),
        )
        entry = {"kind": "tool", "call": call["id"], "text": shown}
        if step.get("error"):
            entry["error"] = True
        self.entries.append(entry)
        facts = self.session.kept.book.facts
        number = max(facts) if facts and self.session.policy.hygiene else None
        named = None if number is None else shown_id(number, loop().context.ids)
        return {"text": shown, "hygiene_id": named}

    def prepare(self, step: Step) -> Answer:
        overrides = {k: v for k, v in step.items() if k not in ("carries", "cold", "overflowed")}
        if overrides:
            self._settings |= overrides
        if step.get("carries") is not None:
            self._carry(step["carries"])
        outcome = self.session.prepare(
            self.entries,
            policy=policy_from(self._settings, "$.given"),
            cold=bool(step.get("cold")),
            overflowed=bool(step.get("overflowed")),
        )
        self._prepared = True
        report = msgspec.to_builtins(outcome.report)
        return {
            "view": copy.deepcopy(outcome.request),
            "passes": report["passes"],
            "report": report,
        }

    def make_pass(self, step: Step) -> Answer:
        self._observe()
        cutoff = step.get("cutoff")
        seqs = self.session.kept.branch.seqs
        outcome = self.session.compact_now(
            self.entries,
            cutoff=(seqs[-1] + 1 if seqs else 0) if cutoff is None else cutoff,
            elide=step.get("elide"),
        )
        return {"view": copy.deepcopy(outcome.request)}

    def recall(self, step: Step) -> Answer:
        self._observe()
        return {"text": self.session.recall(**step)}

    def summarised(self, step: Step) -> Answer:
        self._observe()
        return {"text": self.session.summarised(step["text"], step.get("upto"))}

    def mark(self, _step: Step) -> Answer:
        self._observe()
        return {"mark": list(self.session.mark())}

    def rewind(self, step: Step) -> Answer:
        self._observe()
        mark = step.get("mark")
        if (mark is None) == (step.get("seq") is None):
            raise _shape("seq", "either seq or mark is needed")
        self.session.rewind(step["seq"] if mark is None else _mark(mark))
        del self.entries[len(self.session.kept.branch) :]
        return {}

    def reopen(self, _step: Step) -> Answer:
        self.session.close()
        self.session, self._prepared = self._open(), False
        return {}

    def disable_recall(self, _step: Step) -> Answer:
        self.session.disable_recall()
        return {}

    def delete(self) -> None:
        self.session.delete()

    def sections(self, _step: Step) -> Answer:
        self._observe()
        editor = self.session.editor
        return {
            "text": editor.map_text(),
            "sections": [
                {
                    "id": section.id,
                    "kind": section.kind,
                    "tokens": section.tokens,
                    "after": section.after,
                    "stands_for": section.stands_for or None,
                }
                for section in editor.sections()
            ],
        }

    def tombstone(self, step: Step) -> Answer:
        self._observe()
        return _edited(self.session.editor.tombstone(step["sections"], step.get("reason") or ""))

    def replace(self, step: Step) -> Answer:
        self._observe()
        return _edited(self.session.editor.replace(step["sections"], step["text"]))

    def rewrite(self, step: Step) -> Answer:
        self._observe()
        editor = self.session.editor
        return _edited(editor.rewrite(step["section"], step["old"], step["new"]))

    def context_recall(self, step: Step) -> Answer:
        self._observe()
        return {"text": self.session.editor.recall(step["section"])}

    def diff(self, step: Step) -> Answer:
        self._observe()
        return {"text": self.session.editor.diff(step["section"])}

    def mirror_write(self, _step: Step) -> Answer:
        self._observe()
        path = Path(self.session.before_request())
        mode, dir_mode = context_file.modes(str(path.parent))
        self._file = path.read_bytes().decode("utf-8", "surrogatepass")
        return {
            "text": self._file,
            "path": str(path),
            "mode": f"{mode:04o}",
            "dir_mode": f"{dir_mode:04o}",
        }

    def mirror_apply(self, step: Step) -> Answer:
        self._observe()
        during, output = step.get("during_call") is not False, step.get("output") or ""
        text = self._changed(step["changed"]) if "changed" in step else step.get("text")
        edited = self.session.apply_file(text, during_call=during)
        told = "\n".join(filter(None, [output, edited.text]))
        receipt = None if edited.receipt is None else _receipt(edited)
        return {"text": told, "receipt": receipt}

    def _changed(self, changes: Any) -> str:
        """The file as it was written last, each passage replaced."""
        text = self._file
        if not isinstance(changes, list):
            raise _shape("changed", "a list of [old, new] was expected")
        for number, change in enumerate(changes):
            if not isinstance(change, list) or not all(isinstance(one, str) for one in change):
                raise _shape(f"changed[{number}]", "[old, new] was expected")
            if len(change) != 2 or text.count(change[0]) != 1:
                raise _shape(f"changed[{number}]", "the passage must stand in the file once")
            text = text.replace(*change)
        return text

    def prompt(self, _step: Step) -> Answer:
        return {"text": self.session.prompt()}

    def context(self, _step: Step) -> Answer:
        if not self._prepared:
            self.prepare({})
        numbers = self.session.context()
        return {**numbers, "findings": [f.code for f in numbers["findings"]]}

    def log(self, _step: Step) -> Answer:
        self._observe()
        return {"entries": to_neutral(self.session.kept.entries())}

    def verify(self, _step: Step) -> Answer:
        found = self._store.verify(self._name)
        return {"findings": [{"code": f.code, "message": f.message} for f in found]}

    def _open(self) -> Session:
        policy = policy_from(self._settings, "$.given.policy")
        return Session.open(self._store, self._name, policy, format="entries")

    def _observe(self) -> None:
        self.session.observe(self.entries)

    def _called(self, step: Step) -> dict[str, Any]:
        """The call that a result answers, put before it where the step brings its own."""
        wanted = step.get("call")
        if wanted is not None:
            for entry in reversed(self.entries):
                for call in entry.get("calls") or ():
                    if call["id"] == wanted:
                        return dict(call)
            raise _shape("call", f"no assistant entry has a call {wanted!r}")
        if not isinstance(step.get("tool"), str):
            raise _shape("tool", "a call or a tool is needed")
        self._calls += 1
        arguments = step.get("arguments")
        if not isinstance(arguments, str):
            arguments = compact_json({} if arguments is None else arguments)
        call = {"id": f"call_{self._calls}", "name": step["tool"], "arguments": arguments}
        turn = self._last_turn() if step.get("parallel") else None
        if turn is not None:
            turn["calls"] = [*turn["calls"], call]
        else:
            self.entries.append({"kind": "assistant", "text": "", "calls": [call]})
        return call

    def _last_turn(self) -> dict[str, Any] | None:
        return next((e for e in reversed(self.entries) if e["kind"] == "assistant"), None)

    def _carry(self, wanted: list[Any]) -> None:
        """Only what the request still holds: entries by seq, results by hygiene id.

        Ids alone, or seqs of results alone, say which results are held; what is no result stays.
        """
        self._observe()
        kept, ids = self.session.kept, {parse_id(w) for w in wanted if isinstance(w, str)}
        seqs = {w for w in wanted if isinstance(w, int)}
        results = [entry["kind"] == Kind.TOOL for entry in self.entries]
        names = list(zip(self.entries, kept.branch.seqs, results, strict=True))
        only_results = all(is_result for _, seq, is_result in names if seq in seqs)
        held = []
        for index, (entry, seq, is_result) in enumerate(names):
            known = kept.entry_at(index)
            facts = kept.facts_of(known.call_id, known.body) if is_result else None
            named = facts is not None and facts.number in ids
            if seq in seqs or named or (only_results and not is_result):
                held.append(entry)
        self.entries = held


STEPS: Mapping[str, Callable[[Talk, Step], Answer]] = {
    "append": Talk.append,
    "insert": Talk.insert,
    "prepare": Talk.prepare,
    "pass": Talk.make_pass,
    "recall": Talk.recall,
    "summarised": Talk.summarised,
    "mark": Talk.mark,
    "rewind": Talk.rewind,
    "reopen": Talk.reopen,
    "disable_recall": Talk.disable_recall,
    "prompt": Talk.prompt,
    "context": Talk.context,
    "log": Talk.log,
    "verify": Talk.verify,
    "sections": Talk.sections,
    "tombstone": Talk.tombstone,
    "replace": Talk.replace,
    "rewrite": Talk.rewrite,
    "context_recall": Talk.context_recall,
    "diff": Talk.diff,
    "mirror_write": Talk.mirror_write,
    "mirror_apply": Talk.mirror_apply,
}
"""Step → what it does to a session that is open."""

FIELDS: Mapping[str, tuple[str, ...] | None] = {
    "open": ("policy",),
    "delete": (),
    "append": ("entry",),
    "insert": (
        "call", "tool", "arguments", "parallel", "output", "error", "read", "edits", "note",
    ),
    "prepare": None,
    "pass": ("elide", "cutoff"),
    "recall": ("seq", "id", "query", "offset", "limit"),
    "summarised": ("text", "upto"),
    "mark": (),
    "rewind": ("seq", "mark"),
    "reopen": (),
    "disable_recall": (),
    "prompt": (),
    "context": (),
    "log": (),
    "verify": (),
    "sections": (),
    "tombstone": ("sections", "reason"),
    "replace": ("sections", "text"),
    "rewrite": ("section", "old", "new"),
    "context_recall": ("section",),
    "diff": ("section",),
    "mirror_write": (),
    "mirror_apply": ("text", "changed", "during_call", "output"),
}  # fmt: skip
"""Step → what may be given. None: settings of the policy too, which are checked as such."""
REQUIRED = {
    "append": ("entry",),
    "summarised": ("text",),
    "tombstone": ("sections",),
    "replace": ("sections", "text"),
    "rewrite": ("section", "old", "new"),
    "context_recall": ("section",),
    "diff": ("section",),
}


TEXTS = ("sections", "section", "reason", "text", "old", "new", "tool", "query")
"""Fields that are texts wherever they stand."""


def check(op: str, step: Step, place: str) -> None:
    """Refuse what a step does not know, so that a case that asks for more fails.

    Args:
        place: of the step, with the dot behind it; "" for one that stands alone.

    Raises:
        InputError: `input.shape`.
    """
    if op not in FIELDS:
        raise _shape(place.rstrip("."), f"no step {op[:40]!r}; known: {', '.join(FIELDS)}")
    fields = FIELDS[op]
    for key in step:
        if fields is not None and key not in fields:
            raise _shape(f"{place}{key}", f"{op} knows only {', '.join(fields) or 'no field'}")
    for key in REQUIRED.get(op, ()):
        if step.get(key) is None:
            raise _shape(f"{place}{key}", f"{op} needs it")
    for key in TEXTS:
        if not isinstance(step.get(key), str | None):
            raise _shape(f"{place}{key}", "a text was expected")
    if not isinstance(step.get("entry"), dict | None):
        raise _shape(f"{place}entry", "an object was expected")


def refusal(error: CompactorError) -> Answer:
    """The answer to a step that was refused."""
    said: Answer = {"error": error.code, "path": error.path}
    return said | ({"text": error.message} if isinstance(error, EditError) else {})


def _edited(edited: Edited) -> Answer:
    return {"text": edited.text, "receipt": _receipt(edited)}


def _receipt(edited: Edited) -> Answer:
    receipt = edited.receipt
    assert receipt is not None
    return {"freed": receipt.freed, "reread": receipt.reread}


def _read(read: Any) -> Any:
    return None if read is None else {**read, "content": _content(read.get("content"))}


def _edit(edit: Any) -> Any:
    return {**edit, "old": _content(edit.get("old")), "new": _content(edit.get("new"))}


def _content(value: Any) -> Any:
    """A text, or bytes as `{"base64": …}`."""
    if isinstance(value, dict) and set(value) == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, TypeError) as error:
            raise _shape("content.base64", "base64 was expected") from error
    return value


def _without_defaults(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry as a step adds it."""
    return {key: value for key, value in entry.items() if key not in ("error", "images") or value}


def _mark(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2 or not all(type(n) is int for n in value):
        raise _shape("mark", "a mark is what the step mark answered")
    return Mark(*value)


def _shape(path: str, message: str) -> InputError:
    return InputError(message, code="input.shape", path=f"$.given.{path}")
