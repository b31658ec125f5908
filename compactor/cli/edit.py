"""`compactor edit`: what a model can do to its own context, for a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from compactor.cli.screen import show
from compactor.cli.sessions import json_option, opened, session_option, store_option
from compactor.core.policy import Policy
from compactor.session.editing import Edited, Editor

_EDITING = Policy(editing=True, window=200_000)


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
    with opened(store, session, _EDITING) as found:
        return work(found.editor)


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


@command.command("mirror", short_help="Write the context file and say where.")
@_common
def mirror(store: str, session: str, as_json: bool) -> None:
    """Write the context file of the session and print its path."""
    with opened(store, session, _EDITING) as found:
        path = found.before_request()
    show(json.dumps({"path": path}) if as_json else path)
