"""`compactor completion`: the script that lets a shell complete our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from compactor.cli.screen import show

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_COMPACTOR_COMPLETE"


@click.command("completion", short_help="Print the shell's completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the shell's completion script.

    \b
    Examples:
      eval "$(compactor completion bash)"     # in ~/.bashrc
      eval "$(compactor completion zsh)"      # in ~/.zshrc
      compactor completion fish > ~/.config/fish/completions/compactor.fish
    """
    script = get_completion_class(shell)
    assert script is not None  # click knows all of SHELLS
    show(script(ctx.find_root().command, {}, "compactor", VARIABLE).source())
