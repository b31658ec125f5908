"""Tables of settings, formats, records and words, from the tables that the code itself uses."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

import compactor
from compactor import models
from compactor.cli.options import ROWS, SESSION_ROWS, SESSION_SWITCHES, SWITCHES
from compactor.core.model import Kind
from compactor.core.policy import SPELLING, Policy, Rules, resolve
from compactor.core.records import AnyRecord, Header, RewindRecord, Standing
from compactor.core.report import FATES, WHYS
from compactor.formats import FORMATS
from compactor.formats.lens import CacheBreakpoints, Lens, SignedReasoning
from compactor.formats.messages import value_at
from compactor.formats.raw.native import apply_edits, compact_json, read_document
from compactor.loop import loop
from compactor.stability import LOOKS, CacheBreakError, CacheStability
from compactor.testing import WRITERS, Conversation
from tests.docs.markdown import code, table

EXAMPLE_WINDOW = 200_000
_RULE_OF = {"reserve_tokens": "reserve", "evidence_budget_tokens": "evidence_budget"}
"""Policy field → the field of `Rules` where that has another name."""


def modules() -> Iterator[str]:
    """Packages and modules with the first line of what they say of themselves."""
    package = Path(compactor.__file__).parent
    inits = sorted(path for path in package.glob("*/__init__.py"))
    files = sorted(path for path in package.glob("*.py") if not path.name.startswith("__"))
    rows = []
    for path in [*inits, *files]:
        about = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        name = f"{path.parent.name}/" if path in inits else path.name
        if about:
            rows.append((code(name), about.splitlines()[0]))
    yield from table(("module", "owns"), rows)


def looks() -> Iterator[str]:
    """What a break of the cache may look like, and what to do then."""
    rows = ((look.name, look.said, look.advice) for look in LOOKS.values())
    yield from table(("it looks like", "since", "what to do"), rows)


def a_break() -> Iterator[str]:
    """What a test says that fails for a clock in its system prompt."""
    stream = CacheStability()
    history = [{"role": "user", "content": "Why is the build red?"}]
    for second in (7, 9, 14):
        system = f"Today is 2026-03-01T10:00:{second:02}Z. You fix builds."
        stream.record({"model": "claude-sonnet-5", "system": system, "messages": history})
        history = [*history, {"role": "assistant", "content": "So."}, history[0]]
    yield "```text"
    try:
        stream.check()
    except CacheBreakError as error:
        yield from str(error).split("\n")
    yield "```"


def policy() -> Iterator[str]:
    """Every setting: its spellings, its default, what it means."""
    rules = resolve(Policy(window=EXAMPLE_WINDOW), None, loop().compaction)
    flags = {row.field: row.flag for row in (*ROWS, *SESSION_ROWS)}
    flags |= {"recallable": "--recall", "enabled": "--no-compaction"}
    flags |= {"elide_inputs": "--elide-inputs", "hygiene": "--no-hygiene", "editing": "--editing"}
    flags |= {"protect_first_user": "--no-protect-first-user", "code_mode": "--code-mode"}
    assert {*SWITCHES, *SESSION_SWITCHES} <= set(flags)
    meanings = _arguments(Policy)
    heads = ("in Python", "in a file", "as a flag", "by default", "meaning")
    yield from table(
        heads,
        (
            (
                code(field.name),
                code(SPELLING.get(field.name, field.name)),
                code(flags[field.name]),
                _default(field, rules),
                meanings[field.name],
            )
            for field in msgspec.structs.fields(Policy)
        ),
    )


def _default(field: msgspec.structs.FieldInfo, rules: Rules) -> str:
    """What holds when a setting is not given, for a window of `EXAMPLE_WINDOW`."""
    value = getattr(rules, _RULE_OF.get(field.name, field.name), field.default)
    if field.name in ("window", "overhead_tokens", "model", "counter", "counter_scale"):
        return ""
    if field.name in ("read", "write", "patience"):
        return "looks ahead" if field.name == "patience" else "the model's"
    if field.name in ("remind_at", "last_margin"):
        return _spelled(getattr(loop().editing, field.name))
    return _spelled(value)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return ", ".join(map(_spelled, value)) or "none"
    if isinstance(value, msgspec.Struct):
        return code(":".join(map(str, msgspec.structs.astuple(value))))
    return code(str(value))


def formats() -> Iterator[str]:
    """Every format: what it is and what it offers beside eliding."""
    heads = ("`-f`", "reads", "cache breakpoints", "signed reasoning")
    yield from table(
        heads,
        (
            (
                code(name),
                _first_sentence(lens),
                str(lens.breakpoint_limit) if isinstance(lens, CacheBreakpoints) else "",
                "yes" if isinstance(lens, SignedReasoning) else "",
            )
            for name, lens in FORMATS.items()
        ),
    )


def format_names() -> Iterator[str]:
    """The names of all formats."""
    names = ", ".join(code(name) for name in sorted(FORMATS))
    yield from textwrap.wrap(names, 100, break_on_hyphens=False)


def rewriting() -> Iterator[str]:
    """One failed result, before and after, in every format that conversations are written in."""
    talk = Conversation().user("look").call("bash", {"command": "ls"}, result="no a.py", error=True)
    marker = "[elided 7 chars of failed bash output]"
    yield "```json"
    for name in filter(WRITERS.__contains__, FORMATS):
        lens, root = FORMATS[name], WRITERS[name].write(talk)
        root = read_document(root, name).root if isinstance(root, bytes) else root
        [entry] = [entry for entry in lens.read(root).entries if entry.kind is Kind.TOOL]
        shown = apply_edits(root, lens.rewrite_body(root, entry, marker))
        yield f"// {name}"
        yield compact_json(value_at(root, entry.at))
        yield compact_json(value_at(shown, entry.at))
    yield "```"


def records() -> Iterator[str]:
    """Every kind of record of this version: its fields and what it says."""
    shown = (Header, *get_args(Standing), RewindRecord)
    yield from table(
        ("kind", "says", "fields"),
        (
            (
                code(str(record.__struct_config__.tag)),
                _first_paragraph(record),
                ", ".join(code(name) for name in record.__struct_encode_fields__),
            )
            for record in shown
        ),
    )
    later = [kind for kind in get_args(AnyRecord) if kind not in shown]
    yield ""
    names = ", ".join(code(str(kind.__struct_config__.tag)) for kind in later)
    yield f"Reserved for later versions, refused by this one with `journal.unsupported`: {names}."


def fates() -> Iterator[str]:
    """What can become of an entry."""
    yield from _words(FATES, "fate")


def whys() -> Iterator[str]:
    """Why the last request was compacted or not."""
    yield from _words(WHYS, "why")


def binding_models() -> Iterator[str]:
    """The models of the table whose thinking is bound to what stands before it."""
    table_of = models.built_in()
    found = [model for name in table_of.names() if (model := table_of.find(name)) is not None]
    names = ", ".join(code(model.name) for model in found if model.binds_thinking)
    yield f"{names}."


def _words(words: Mapping[str, str], head: str) -> Iterator[str]:
    yield from table((head, "meaning"), ((code(word), said) for word, said in words.items()))


def _arguments(kind: type) -> dict[str, str]:
    """Names and meanings of the `Args:` of a docstring."""
    text = inspect.getdoc(kind) or ""
    section = text.partition("Args:\n")[2].partition("\n\n")[0]
    joined = re.sub(r"\n {8,}", " ", "\n" + section)
    return dict(re.findall(r"\n {4}(\w+): (.*)", joined))


def _first_sentence(lens: Lens) -> str:
    """Of the module that a lens is in."""
    text = inspect.getdoc(inspect.getmodule(type(lens))) or ""
    return " ".join(re.split(r"\.\s", text, maxsplit=1)[0].removesuffix(".").split())


def _first_paragraph(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
