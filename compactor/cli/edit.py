"""`compactor edit`: what a model can do to its own context, for a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from compactor.cli.screen import show
from compactor.cli.sessions import json_option, opened, session_option, store_option
from compactor.core.errors import EditError
from compactor.core.policy import Policy
from compactor.loop import loop
from compactor.session import Session
from compactor.session.editing import Edited, Editor

_EDITING = Policy(editing=True, window=200_000)
_NEXT = {
    "edit.unknown_section": "`compactor edit sections` lists those that there are",
    "edit.retired_section": "name that one",
    "edit.not_contiguous": "S3 is a section, S3..S9 a run from the older to the newer",
    "edit.protected": "edit others; `compactor edit sections` says which may be",
    "edit.no_match": "`compactor edit recall` shows a section as it was, `diff` what was changed",
    "edit.many_matches": "--old takes several lines too",
    "edit.stale": "it was written anew; edit that",
    "edit.reorder": "it was written anew; leave the order of its headers",
    "edit.damaged_header": "it was written anew; change only what lies under its headers",
}
"""Refusal → what a person may do next."""


@click.group("edit", short_help="Edit the context of a session as its model can.")
def command() -> None:
    """Edit the context of a session as its model can.

    Nothing is lost: an edit is a record, and every original stays stored.
    """


def _common(run: Callable[..., Any]) -> Callable[..., Any]:
    for option in (json_option, session_option, store_option):
        run = option(run)
    return run


def _editor(store: str, session: str, work: Callable[[Editor], Any]) -> Any:
    return _session(store, session, lambda found: work(found.editor))


def _session(store: str, session: str, work: Callable[[Session], Any]) -> Any:
    """What is asked of a session; a refusal says what a person may do."""
    with opened(store, session, _EDITING) as found:
        try:
            return work(found)
        except EditError as error:
            hint = _NEXT.get(error.code, "")
            raise EditError(error.message, code=error.code, path=error.path, hint=hint) from error


def _say(edited: Edited, as_json: bool) -> None:
    receipt = edited.receipt
    numbers = None if receipt is None else {"freed": receipt.freed, "reread": receipt.reread}
    show(json.dumps({"text": edited.text, "receipt": numbers}) if as_json else edited.text)


@command.command("sections", short_help="List the sections.")
@_common
def sections(store: str, session: str, as_json: bool) -> None:
    """List the sections of the context: id, kind, tokens, tokens after it."""
    if as_json:
        found = _editor(store, session, lambda editor: editor.sections())
        keys = ("id", "kind", "tokens", "after", "stands_for", "protected")
        rows = [{key: getattr(section, key) for key in keys} for section in found]
        show(json.dumps({"sections": rows}))
    else:
        show(_editor(store, session, lambda editor: editor.map_text()))


@command.command("tombstone", short_help="Remove sections; a one-line marker stays.")
@click.argument("named", metavar="SECTIONS")
@click.option("--reason", default="", help="Why, for the marker.")
@_common
def tombstone(store: str, session: str, named: str, reason: str, as_json: bool) -> None:
    """Remove sections (S3 or S3..S9); a one-line marker stays."""
    _say(_editor(store, session, lambda editor: editor.tombstone(named, reason)), as_json)


@command.command("replace", short_help="Put a text in the place of sections.")
@click.argument("named", metavar="SECTIONS")
@click.option("--text", required=True, help="What stands in their place.")
@_common
def replace(store: str, session: str, named: str, text: str, as_json: bool) -> None:
    """Put a text in the place of sections (S3 or S3..S9)."""
    _say(_editor(store, session, lambda editor: editor.replace(named, text)), as_json)


@command.command("rewrite", short_help="Change one passage of a result or reply.")
@click.argument("section", metavar="SECTION")
@click.option("--old", required=True, help="The passage as it stands; it must match once.")
@click.option("--new", required=True, help="What stands there from now on.")
@_common
def rewrite(store: str, session: str, section: str, old: str, new: str, as_json: bool) -> None:
    """Change one passage inside a result or reply of a section."""
    _say(_editor(store, session, lambda editor: editor.rewrite(section, old, new)), as_json)


@command.command("recall", short_help="Show the originals of a section.")
@click.argument("section", metavar="SECTION")
@_common
def recall(store: str, session: str, section: str, as_json: bool) -> None:
    """Show the originals of a section."""
    text = _editor(store, session, lambda editor: editor.recall(section))
    show(json.dumps({"text": text}) if as_json else text)


@command.command("diff", short_help="Show what was changed in a section.")
@click.argument("section", metavar="SECTION")
@_common
def diff(store: str, session: str, section: str, as_json: bool) -> None:
    """Show what was changed in a section, as a unified diff against its originals."""
    text = _editor(store, session, lambda editor: editor.diff(section))
    show(json.dumps({"text": text}) if as_json else text)


@command.command("mirror", short_help="Write the context file, or apply what changed in it.")
@click.option("--apply", is_flag=True, help="Make the changes that were made in it since.")
@_common
def mirror(store: str, session: str, as_json: bool, apply: bool) -> None:
    """Write the context file of the session and print its path; with --apply read it back.

    All changes are one batch: where one of them is refused, none is made.
    """
    if apply:
        edited = _session(store, session, lambda found: found.apply_file())
        _say(edited if edited.receipt else edited._replace(text=loop().editing.same), as_json)
    else:
        path = _session(store, session, lambda found: found.before_request())
        show(json.dumps({"path": path}) if as_json else path)
