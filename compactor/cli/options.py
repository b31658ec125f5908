"""The options that `compact`, `explain`, `context` and `diff` share, as tables.

A policy row is one line here: its flag, its kind and its help. `job_options` puts them all on a
command, which gets them back as one `Job`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import click

from compactor.core.policy import MODES, REASONING, TRIGGERS
from compactor.core.texts import ArtifactId

_DIGITS = re.compile(r"[0-9]+(?:_[0-9]+)*")
_MOST = 10**12
"""The largest number of a flag: no window will ever have so many tokens."""
_LENGTH_MAX = 64


def whole_number(value: str) -> int:
    """Digits, grouped by underscores at will: 200_000."""
    return _number(value, 0, _MOST)


def positive_number(value: str) -> int:
    """The same, and not 0."""
    return _number(value, 1, _MOST)


def _number(value: str, least: int, most: int) -> int:
    if not _DIGITS.fullmatch(value):
        raise click.BadParameter(
            f"{value!r} is no whole number from {least} up, such as 200000 or 200_000"
        )
    digits = value.replace("_", "").lstrip("0")
    # Python reads no number of thousands of digits.
    number = int(digits or "0") if len(digits) <= len(str(most)) else most + 1
    if not least <= number <= most:
        raise click.BadParameter(f"{value} is not between {least:,} and {most:,}")
    return number


def journal_name(value: str) -> str:
    """A file, and no stream: the journal is read and written, and locked meanwhile."""
    if value == "-":
        raise click.BadParameter("a journal is a file, never a stream (./- is a file of that name)")
    return value


def artifact_kind(value: str) -> ArtifactId:
    """`PREFIX:ALPHABET:LENGTH`; a prefix may hold colons."""
    pieces = value.rsplit(":", 2)
    if len(pieces) != 3:
        raise click.BadParameter(f"{value!r} is not PREFIX:ALPHABET:LENGTH, such as ev_:0-9a-f:8")
    prefix, alphabet, length = pieces
    return ArtifactId(prefix, alphabet, _number(length, 1, _LENGTH_MAX))


def _model_names() -> Iterable[str]:
    from compactor import models  # a table of its own: only for completion

    return models.names()


def _format_names() -> Iterable[str]:
    from compactor import installed  # looks at what is installed: only for completion

    return installed.names()


def _counter_names() -> Iterable[str]:
    from compactor import counters

    return counters.KNOWN


class Row(NamedTuple):
    """A policy row.

    field: of `Policy`.
    kind: what click makes of the text.
    metavar: stands for the value in the help; "" where the choices do.
    many: the flag may be repeated.
    names: what the shell completes.
    """

    field: str
    flag: str
    kind: Any
    metavar: str
    help: str
    many: bool = False
    names: Callable[[], Iterable[str]] | None = None


ROWS = (
    Row("model", "--model", str, "NAME", "Model for window and counter.", names=_model_names),
    Row("window", "--window", positive_number, "N",
        "Context window in tokens; wins over the model's."),
    Row("reserve_tokens", "--reserve-tokens", whole_number, "N",
        "Tokens kept free; default window * 2 // 10."),
    Row("keep_recent", "--keep-recent", whole_number, "N",
        "Trailing entries kept verbatim; default 8."),
    Row("recent_tokens", "--recent-tokens", whole_number, "N",
        "Most tokens kept as recent; default the reserve."),
    Row("evidence_budget_tokens", "--evidence-budget-tokens", whole_number, "N",
        "Tokens of old evidence kept verbatim; default half the reserve."),
    Row("evidence_tools", "--evidence-tool", str, "TOOL",
        "A tool whose results are evidence. Repeatable; replaces the default list.", many=True),
    Row("protected_tools", "--protect-tool", str, "TOOL",
        "A tool whose results always stay. Repeatable.", many=True),
    Row("pins", "--pin", whole_number, "SEQ",
        "An entry that always stays, by its seq. Repeatable.", many=True),
    Row("artifact_ids", "--artifact-id", artifact_kind, "KIND",
        "A kind of id that markers cite, as PREFIX:ALPHABET:LENGTH, such as ev_:0-9a-f:8. "
        "Repeatable; replaces the default list.", many=True),
    Row("min_gain", "--min-gain", whole_number, "N", "Tokens an elision must save; default 25."),
    Row("min_freed", "--min-freed", whole_number, "N",
        "Tokens a pass must free to be worth a cache break; default reserve // 10, and "
        "reserve // 40 for a priced pass that looks ahead."),
    Row("trigger", "--trigger", click.Choice(TRIGGERS), "",
        "When a pass is due: at the threshold (default), or also as soon as what it frees is worth "
        "what it breaks of the prompt cache (priced)."),
    Row("read", "--read", whole_number, "PERMILLE",
        "Priced: what cached input costs, per mille of input; default the model's."),
    Row("write", "--write", whole_number, "PERMILLE",
        "Priced: what writing to the cache costs, per mille of input; default the model's."),
    Row("patience", "--patience", whole_number, "PERMILLE",
        "Priced: a pass is made once waiting has cost so much of its price; default: look ahead."),
    Row("overhead_tokens", "--overhead-tokens", whole_number, "N",
        "Tokens of system prompt and tools; default counted in the input."),
    Row("counter", "--counter", str, "NAME",
        "Counts the tokens; default the model's.", names=_counter_names),
    Row("counter_scale", "--counter-scale", positive_number, "PERMILLE",
        "Tokens for 1000 counted; default the model's, 1000 with --counter."),
    Row("reasoning", "--reasoning", click.Choice(REASONING), "",
        "Signed reasoning after a change: provider lets the API drop what it no longer accepts, "
        "keep does nothing, drop removes it; default provider where the model binds thinking to "
        "what stands before it, else keep."),
    Row("mode", "--mode", click.Choice(MODES), "",
        "What a pass does; default elide. WARNING: summarize is reserved and turns passes off."),
)  # fmt: skip
SWITCHES = {
    "recallable": "recall", "enabled": "no_compaction", "elide_inputs": "elide_inputs",
}  # fmt: skip
"""Policy fields that are on or off → the parameter of `_SWITCHES` that sets them."""
SESSION_ROWS = (
    Row("remind_at", "--remind-at", whole_number, "PERMILLE",
        "With --editing: a share of the window past which a result says how full it is. "
        "Repeatable; default 500 and 750.", many=True),
    Row("last_margin", "--last-margin", whole_number, "PERMILLE",
        "With --editing: the last share lies so far below the threshold; default 200."),
)  # fmt: skip
SESSION_SWITCHES = {
    "hygiene": "hygiene", "editing": "editing", "protect_first_user": "protect_first_user",
    "code_mode": "code_mode",
}  # fmt: skip
"""The same for what only sessions do."""


class PolicyOption(click.Option):
    """An option of the policy; the help lists them apart."""


class JobCommand(click.Command):
    """A command with the shared options; its help shows its own options first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        policy: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and not isinstance(param, click.Argument):
                (policy if isinstance(param, PolicyOption) else own).append(record)
        with formatter.section("Options"):
            formatter.write_dl(own)
        with formatter.section("Policy (over --config, over the model's, over the defaults)"):
            formatter.write_dl(policy)


class Job(NamedTuple):
    """What the shared options say.

    source: a file, or `-`; None when none was named.
    settings: the policy rows given, by field of `Policy`.
    """

    source: str | None
    format: str | None
    thread: str
    journal: str | None
    config: str | None
    models: str | None
    strict: bool
    failed: tuple[str, ...]
    overflowed: bool
    cold: bool
    quiet: bool
    settings: Mapping[str, Any]


def _completer(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What click asks for the completions of a half-typed name."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


complete_models, complete_counters = _completer(_model_names), _completer(_counter_names)
models_option = click.option(
    "--models", metavar="FILE",
    help="Models over the built-in table, in the shape of compactor/data/models.json.",
)  # fmt: skip
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_SOURCE, _FORMAT, _THREAD, _STRICT, _FAILED, _QUIET = _READING = (
    click.argument("source", metavar="[FILE|-]", required=False),
    click.option("-f", "--format", metavar="FORMAT", shell_complete=_completer(_format_names),
                 help="Format of the input; default: told from its content."),
    click.option("--thread", metavar="ID", default="",
                 help="Which conversation of a file that holds several: a sub-agent's, a run; "
                      "`compactor inspect --all-threads` names them. Default: the main one."),
    click.option("--strict", is_flag=True, help="Refuse damaged input instead of noting it."),
    click.option("--failed", multiple=True, metavar="CALL_ID",
                 help="A tool call that failed, where the input does not say so. Repeatable."),
    click.option("-q", "--quiet", is_flag=True, help="No notes and no summary on stderr."),
)  # fmt: skip
format_option, thread_option, strict_option, quiet_option = _FORMAT, _THREAD, _STRICT, _QUIET
paths_argument = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
all_threads_option = click.option(
    "--all-threads", is_flag=True, help="Every conversation of a file, each for itself."
)
_INPUT: tuple[_Decorator, ...] = (
    _SOURCE,
    _FORMAT,
    _THREAD,
    click.option("--journal", metavar="FILE", type=journal_name,
                 help="Journal of this conversation, shared by all its calls: what was decided "
                      "before stays. Another process that has it open is waited for, 10 seconds "
                      "at most."),
    click.option("--config", metavar="FILE",
                 help="Policy file (TOML or JSON). Default: ./compactor.toml, else "
                      "[tool.compactor] in ./pyproject.toml."),
    models_option,
    _STRICT,
    _FAILED,
    click.option("--overflowed", is_flag=True,
                 help="The provider refused this very request as too long: free what may go."),
    click.option("--cold", is_flag=True,
                 help="The provider's prompt cache has expired, so that a pass breaks nothing: "
                      "with --trigger priced it is made at once."),
    _QUIET,
)  # fmt: skip
_SWITCHES: tuple[_Decorator, ...] = (
    click.option("--recall/--no-recall", cls=PolicyOption, default=None,
                 help="Markers say how to recall the original. For harnesses that offer a recall "
                      "tool; turned off later, it stays off in this journal."),
    click.option("--no-compaction", cls=PolicyOption, is_flag=True,
                 help="Change nothing, only report. WARNING: useful for reproducing a "
                      "context-window bug and for nothing else; a long run will overflow at the "
                      "provider, in mid-turn."),
    click.option("--elide-inputs/--no-elide-inputs", cls=PolicyOption, default=None,
                 help="Long strings in the arguments of old answered calls go too; default off."),
)  # fmt: skip
_SESSION_SWITCHES: tuple[_Decorator, ...] = (
    click.option("--hygiene/--no-hygiene", cls=PolicyOption, default=None,
                 help="Results get ids, stubs, caps and diffs; default on."),
    click.option("--editing/--no-editing", cls=PolicyOption, default=None,
                 help="The model may edit its own context; default off."),
    click.option("--protect-first-user/--no-protect-first-user", cls=PolicyOption, default=None,
                 help="No edit touches the first user message; default on."),
    click.option("--code-mode/--no-code-mode", cls=PolicyOption, default=None,
                 help="What results say of the window spells out how to call; default off."),
)  # fmt: skip


def session_policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Put what only sessions do on a command that has the shared options."""
    decorated = command
    for option in reversed((*map(_policy_option, SESSION_ROWS), *_SESSION_SWITCHES)):
        decorated = option(decorated)
    return decorated


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Put the shared options on a command, whose first argument becomes the `Job`."""

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        return command(_job(values), **values)

    decorated: Callable[..., Any] = run
    for option in reversed((*_INPUT, *map(_policy_option, ROWS), *_SWITCHES)):
        decorated = option(decorated)
    return decorated


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Put the options that only reading needs on a command; its `Job` decides nothing."""

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        shared = {name: values.pop(name, None) for name in Job._fields}
        return command(Job(**shared), **values)

    decorated: Callable[..., Any] = run
    for option in reversed(_READING):
        decorated = option(decorated)
    return decorated


def check_sources(paths: Iterable[str], thread: str, *, all_threads: bool) -> None:
    """Refuse what commands that read many files cannot do.

    Raises:
        click.UsageError: standard input is named, or one thread and all of them.
    """
    if "-" in paths:
        raise click.UsageError(
            "name files and folders (/dev/stdin is standard input, ./- a file of that name)"
        )
    if thread and all_threads:
        raise click.UsageError("--thread chooses one conversation, --all-threads takes all")


def _policy_option(row: Row) -> _Decorator:
    return click.option(
        row.flag,
        row.field,
        type=row.kind,
        metavar=row.metavar or None,
        multiple=row.many,
        shell_complete=_completer(row.names) if row.names else None,
        help=row.help,
        cls=PolicyOption,
    )


def _job(values: dict[str, Any]) -> Job:
    """Take the shared options out of a command's values."""
    given = {row.field: values.pop(row.field) for row in ROWS}
    given |= {row.field: values.pop(row.field, None) for row in SESSION_ROWS}
    given |= {field: values.pop(name, None) for field, name in SESSION_SWITCHES.items()}
    given["elide_inputs"] = values.pop("elide_inputs")
    settings = {field: value for field, value in given.items() if value not in (None, ())}
    recall, no_compaction = values.pop("recall"), values.pop("no_compaction")
    if recall is not None:
        settings["recallable"] = recall
    if no_compaction:
        settings["enabled"] = False
    shared = {name: values.pop(name) for name in Job._fields if name != "settings"}
    return Job(settings=settings, **shared)
