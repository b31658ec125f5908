"""The reference of the command line, from the click commands themselves.

Made from parameters and docstrings and not from click's own help text, whose layout changes from
release to release.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator

import click

from compactor.cli.app import COMMANDS, cli
from compactor.cli.options import PolicyOption, job_options
from tests.docs.markdown import code, table

JOB_COMMANDS = ("compact", "explain", "context", "diff")
_SECTION = re.compile(r"^Examples?:$")


def commands() -> Iterator[str]:
    """Every command with its options; what four of them share stands once."""
    yield from _command("compactor", cli, ())
    shared = [param for param in _shared() if isinstance(param, click.Option)]
    meanings = [_meaning(param) for param in shared]
    for name in COMMANDS:
        yield from _command(f"compactor {name}", command_of(name), meanings)
    yield f"## Options of {_listed(JOB_COMMANDS)}"
    yield ""
    yield "Numbers may be grouped by underscores: `200_000`."
    yield ""
    yield from _options(param for param in shared if not isinstance(param, PolicyOption))
    yield ""
    yield "Settings of the policy: over the file, over the model's, over the defaults."
    yield ""
    yield from _options(param for param in shared if isinstance(param, PolicyOption))


def command_of(name: str) -> click.Command:
    """A command by its name."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, f"there is no command {name}"
    return found


def _shared() -> list[click.Parameter]:
    @click.command()
    @job_options
    def nothing(*_job: object) -> None:
        """Has the shared options only."""

    return nothing.params


def _command(name: str, command: click.Command, shared: Collection[str]) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield "```text"
    yield " ".join([name, *command.collect_usage_pieces(click.Context(command))])
    yield "```"
    yield ""
    yield from _help(inspect.cleandoc(command.help or ""))
    options = [param for param in command.params if isinstance(param, click.Option)]
    own = [param for param in options if _meaning(param) not in shared]
    if own:
        yield from _options(own)
        yield ""
    if isinstance(command, click.Group) and name != "compactor":
        yield from _parts(name, command)
    if len(own) < len(options):
        yield "Its other options are [shared](#options-of-compact-explain-context-and-diff)."
        yield ""


def _parts(name: str, group: click.Group) -> Iterator[str]:
    """The commands of a group, with what they are called with."""
    rows = []
    for part, command in group.commands.items():
        given = " ".join(_given(param) for param in command.params)
        rows.append(
            (f"`{name} {part} {given}`", inspect.cleandoc(command.help or "").split("\n")[0])
        )
    yield from table(("command", "does"), rows)
    yield ""


def _given(param: click.Parameter) -> str:
    """An argument or option as it is called; what may be left out in brackets."""
    if isinstance(param, click.Argument):
        return param.make_metavar(click.Context(click.Command("x")))
    flag = isinstance(param, click.Option) and param.is_flag
    kind = "" if flag else f" {param.metavar or param.type.name.upper()}"
    said = f"{param.opts[0]}{kind}"
    return said if param.required else f"[{said}]"


def _help(text: str) -> Iterator[str]:
    """A docstring; a block that click keeps as it is (`\\b`) becomes code."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.split("\n")
        if lines[0].strip() != "\b":
            yield from lines
            yield ""
            continue
        yield "```sh"
        yield from (line.strip() for line in lines[1:] if not _SECTION.match(line.strip()))
        yield "```"
        yield ""


def _options(params: Iterable[click.Option]) -> Iterator[str]:
    yield from table(("option", "meaning"), ((_flags(p), _meaning(p)) for p in params))


def _flags(param: click.Option) -> str:
    flags = ", ".join(code(flag) for flag in (*param.opts, *param.secondary_opts))
    if param.is_flag:
        return flags
    kind = param.type
    value = "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else param.metavar
    return f"{flags} {code(value or '')}".rstrip()


def _meaning(param: click.Option) -> str:
    return " ".join((param.help or "").split())


def _listed(names: Iterable[str]) -> str:
    *first, last = (code(name) for name in names)
    return f"{', '.join(first)} and {last}"
