"""Invented conversations of any length: an agent that reads files and runs commands."""

from __future__ import annotations

from typing import Any

from compactor.testing import Conversation

Messages = list[dict[str, Any]]


def result(k: int, lines: int) -> str:
    """The k-th tool output, unlike all others: `lines` lines of some 60 characters."""
    return "".join(
        f"{n:4d}  module_{k}.step_{n % 7}: row {k * 31 + n} of table {n % 5}, total {n * k % 997}\n"
        for n in range(lines)
    )


def messages(entries: int, lines: int = 6) -> Messages:
    """An Anthropic message list of so many entries: a task, then calls and their results."""
    talk: Messages = [{"role": "user", "content": "Find the slow query and make it fast."}]
    while len(talk) < entries:
        talk += step(len(talk) // 2, lines)
    return talk[:entries]


def step(k: int, lines: int = 6) -> Messages:
    """One call and its result: two entries."""
    call = {"type": "tool_use", "id": f"call_{k}", "name": "bash", "input": {"command": f"run {k}"}}
    answer = {"type": "tool_result", "tool_use_id": f"call_{k}", "content": result(k, lines)}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": f"Step {k}."}, call]},
        {"role": "user", "content": [answer]},
    ]


def session(size_bytes: int) -> bytes:
    """A Claude Code session of about so many bytes, made of results of some 6,000 characters."""
    talk = Conversation(model="claude-sonnet-4-5").user("Find the slow query and make it fast.")
    for k in range(max(2, size_bytes // 6_400)):
        talk.call("Bash", {"command": f"run {k}"}, result=result(k, 100), text=f"Step {k}.")
    return talk.claude_code()
