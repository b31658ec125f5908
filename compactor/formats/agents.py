"""Sessions in whose file sub-agents speak too: the main conversation, and a thread an agent.

A lens says which lines are of which thread, the main one's under ""; this file names the threads in
which anything is said and picks the one to read, the same way for every harness.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from compactor.core.errors import Finding
from compactor.formats.runs import MAIN, Run, named, others


def agent_runs(lines: Mapping[str, Sequence[int]], speaks: Callable[[int], bool]) -> list[Run]:
    """The threads in which anything is said, as runs of line indexes. O(lines).

    The main one comes first; in a sub-agent's own file, which has none, the newest.

    Args:
        lines: indexes by agent, in the order of their first lines; the main thread's under "".
        speaks: whether the line at an index is a message of the conversation.
    """
    spoken = [agent for agent, indexes in lines.items() if any(map(speaks, indexes))]
    first = "" if "" in spoken else max(spoken, key=lambda agent: lines[agent][-1], default="")
    spoken.sort(key=lambda agent: agent != first)
    return named(Run(agent or MAIN, (), lines[agent], agent) for agent in spoken)


def run_findings(runs: Sequence[Run], run: Run, wanted: str) -> Iterator[Finding]:
    """What is said of the thread that is read when none was asked for, and of the others."""
    if wanted:
        return
    if run.part:
        yield Finding("subagent_file", f"read as the subagent's thread {run.name!r}")
    yield from others(runs)
