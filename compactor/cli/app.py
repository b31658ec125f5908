"""The group of all commands: a table of names, each imported when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NamedTuple

import click

from compactor.cli.failures import exit_code


class Row(NamedTuple):
    """One command.

    target: `module:attribute` of the click command.
    help: its line in the list. The module's own says the same; a test compares.
    """

    target: str
    help: str


COMMANDS = {
    "compact": Row("compactor.cli.compact:command", "Elide old tool results of a transcript."),
    "explain": Row("compactor.cli.explain:command", "Say of every entry what became of it."),
    "context": Row("compactor.cli.context:command", "Show what fills the context window."),
    "diff": Row("compactor.cli.diff:command", "Show what the elided results hide."),
    "inspect": Row(
        "compactor.cli.inspect:command", "Say what transcripts are and hold, a row a file."
    ),
    "stability": Row(
        "compactor.cli.stability:command", "Say what breaks the prompt cache in recorded requests."
    ),
    "calibrate": Row(
        "compactor.cli.calibrate:command", "Fit token counts to what recordings say was used."
    ),
    "replay": Row(
        "compactor.cli.replay:command",
        "Show what recordings would have cost under other policies.",
    ),
    "recommend": Row(
        "compactor.cli.recommend:command", "Say which policy to use, by your own recordings."
    ),
    "convert": Row("compactor.cli.convert:command", "Write a transcript as another format."),
    "insert": Row("compactor.cli.sessions:insert", "Insert a tool result into a session."),
    "prepare": Row("compactor.cli.sessions:prepare", "Prepare a request of a session."),
    "recall": Row("compactor.cli.sessions:recall", "Show an original of a session again."),
    "edit": Row("compactor.cli.edit:command", "Edit the context of a session as its model can."),
    "sessions": Row("compactor.cli.sessions:sessions", "List the sessions of a store."),
    "import": Row("compactor.cli.sessions:import_", "Store a recorded transcript as a session."),
    "export": Row("compactor.cli.sessions:export", "Print the originals of a session."),
    "verify": Row(
        "compactor.cli.sessions:verify", "Check a store or a journal against its checksums."
    ),
    "prune": Row(
        "compactor.cli.sessions:prune",
        "Remove whole sessions that were not written to for long.",
    ),
    "models": Row(
        "compactor.cli.models:command", "Show the model table: windows, counters, prices."
    ),
    "conformance": Row(
        "compactor.conformance.command:command",
        "Check an implementation against the language-neutral cases.",
    ),
    "serve": Row(
        "compactor.stdio:command",
        "Answer requests of other programs: one JSON object a line in, one out.",
    ),
    "completion": Row("compactor.cli.completion:command", "Print the shell's completion script."),
}


class Commands(click.Group):
    """Commands by name, imported at the call; errors become one line and an exit code."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        module, _, attribute = row.target.partition(":")
        try:
            command = getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            if ctx.resilient_parsing:  # completion: the other commands are still there
                return None
            raise click.UsageError(
                f"{cmd_name} is not whole in this installation: {error}. Install the package again."
            ) from error
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.help) for name, row in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit):
            raise
        except BaseException as error:  # the edge: everything else is said in one line
            ctx.exit(exit_code(error))


def _show_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from compactor import __version__
        from compactor.loop import loop

        click.echo(f"compactor {__version__} (ruleset {loop().ruleset})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show version and ruleset, and exit.",
)
def cli() -> None:
    """Deterministic compaction of LLM agent transcripts.

    Old tool results give way to one-line markers; no model is involved, and the same history gives
    the same bytes everywhere.

    \b
    Examples:
      compactor compact session.jsonl > smaller.jsonl
      compactor compact request.json --journal session.journal -o smaller.json
      compactor context session.jsonl

    Exit codes: 0 done, 1 input refused, 2 usage, 3 internal fault, 4 overflow with
    --fail-on-overflow.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # what a terminal cannot show is spelled out, never an error
            reconfigure(errors="backslashreplace")
