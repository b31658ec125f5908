"""What the tests of the command line share: small requests, and the program as a process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SMALL = ("--counter", "chars4", "--window", "2000")
"""A window that a dozen results of `request` overflow."""


def result(number: int, chars: int) -> str:
    """A result of several lines, told from every other."""
    line = f"result {number} is {chars} characters long\n"
    return (line * (chars // len(line) + 1))[:chars]


def request(turns: int, *, chars: int = 800, topic: str = "the task", tool: str = "bash") -> Any:
    """An Anthropic request of so many turns, each a call and its result."""
    messages: list[Any] = [{"role": "user", "content": topic}]
    for number in range(turns):
        call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"n": number}}
        answer = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": result(number, chars),
        }
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [answer]},
        ]
    return {"model": "claude-sonnet-4-5", "system": "Be brief.", "messages": messages}


def as_bytes(body: Any) -> bytes:
    """JSON with a spelling of its own, which has to survive."""
    return json.dumps(body, indent=1).encode() + b"\n"


def compactor(
    *args: str | os.PathLike[str],
    stdin: bytes | None = b"",
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """`compactor ARGS` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "compactor", *args],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(env),
        timeout=120,
        check=False,
    )


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """This process's environment, where the package of this checkout is found from anywhere."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}
