"""What the tests of many recordings share: folders of them, and work that kills its process."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import cli_kit as kit

from compactor import Policy
from compactor.replay.many import Done, Item, Task, work

TASK = Task(policies=("none", "threshold"), base=Policy(window=4000, counter="chars4"))


def folder_of(folder: Path, count: int) -> Path:
    """Requests of several lengths; a damaged one, one of an unknown model, and no transcript."""
    folder.mkdir()
    for k in range(count):
        body = kit.request(3 + k % 5, chars=900, topic=f"task {k}")
        (folder / f"{k:03}.json").write_bytes(kit.as_bytes(body))
    (folder / "broken.json").write_bytes(b'{"messages": [{"role": "user"}, {"role"')
    other = kit.request(3) | {"model": "nobody-knows-it"}
    (folder / "unknown.json").write_text(json.dumps(other))
    (folder / "zz_notes.txt").write_text("no transcript")
    return folder


def deadly(task: Task, item: Item) -> Done:
    """Works, but for one file, which takes its process with it."""
    if item.path.endswith("002.json"):
        os._exit(9)
    return work(task, item)


class Deadly:
    """Kills its process as `deadly` does, but once: then there is a file that says so."""

    def __init__(self, said: Path) -> None:
        self._said = said

    def __call__(self, task: Task, item: Item) -> Done:
        if item.path.endswith("002.json") and not self._said.exists():
            self._said.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return work(task, item)
