"""A scripted agent that edits its own context: with sed, with Python, and with the tools.

    python docs/sample_editing/agent.py

The model is a script, all else is real: a project in a temporary folder, a shell that runs the
commands, the context file, the session, its passes. Every request is checked by the types of the
provider's SDK, and its price follows from what it shares with the one before. docs/editing.md shows
what this prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from dialects import DIALECTS, Call, Dialect, check

from compactor import Policy, Session, models
from compactor.replay.prices import Tariff
from compactor.replay.serving import Served

POLICY = Policy(
    window=2500, counter="chars4", overhead_tokens=0, reserve_tokens=500, keep_recent=4,
    min_freed=0, evidence_budget_tokens=0, editing=True,
)  # fmt: skip
"""A window so small that the agent fills it. Passes come up by themselves."""
PRICES = Tariff(models.built_in().find("claude-sonnet-4-5").prices)
"""What is written into the cache costs 1.25 times the input, what is read from it a tenth."""

DROP_RESULT = """\
import os, re
path = os.environ['CONTEXT']
text = open(path).read()
said = 'I read totals.py; it holds 24 rates and no bug.'
was = re.search(r'I read totals\\.py\\.\\n\\[\\[RESULT .*\\Z', text, re.S)
open(path, 'w').write(text.replace(was.group(), said + '\\n'))
"""
SCRIPT: list[tuple[str, str, dict[str, str]]] = [
    ("I look at the log.", "sh", {"command": "cat nightly.log"}),
    ("Only its errors matter.", "sh", {"command": "sed -i.bak '/ INFO /d' \"$CONTEXT\""}),
    ("I read totals.py.", "sh", {"command": "cat totals.py"}),
    ("There was nothing in it.", "sh", {"command": f'python3 - <<"END"\n{DROP_RESULT}END'}),
    ("I run the job.", "sh", {"command": "cat run-1.txt"}),
    ("Once more, with the other rate.", "sh", {"command": "cat run-2.txt"}),
    ("And with both.", "sh", {"command": "cat run-3.txt"}),
    ("How full is it?", "context_sections", {}),
    ("The runs said one thing.", "context_replace",
     {"sections": "S9..S13", "text": "Three runs: the rate of EUR is read as text, never parsed."}),
    ("The task was another.", "sh", {"command": "sed -i.bak 's/Find out/Forget/' \"$CONTEXT\""}),
    ("I mend it.", "sh", {"command": "sed -i.bak 's/rate = row/rate = int(row)/' job.py"}),
    ("No more of the sizes.", "context_tombstone", {"sections": "S15", "reason": "seen"}),
    ("What did the runs say?", "context_recall", {"section": "S9"}),
    ("Shorter, please.", "context_rewrite",
     {"section": "S1", "old": "can only add int, not str", "new": "int + str"}),
    ("What did it say?", "context_diff", {"section": "S1"}),
    ("One more look.", "sh", {"command": "cat job.py"}),
]  # fmt: skip
"""What the model says, which tool it calls, and how."""


def project(folder: Path) -> None:
    """The folder that the agent works in."""
    lines = [f"02:{n:02d}:00 INFO order {4000 + n} booked, total {n}.90 EUR" for n in range(60)]
    lines[41] = "02:41:00 ERROR order 4041: can only add int, not str"
    (folder / "nightly.log").write_text("\n".join(lines) + "\n")
    rates = [f"RATE_{n} = {n * 7 % 24}  # of region {n}" for n in range(24)]
    (folder / "totals.py").write_text("\n".join(rates) + "\n")
    (folder / "job.py").write_text("def total(rows):\n    for row in rows:\n        rate = row\n")
    for run in (1, 2, 3):
        said = [f"run {run}: order {4000 + n} rate '{n}' is a str" for n in range(50)]
        (folder / f"run-{run}.txt").write_text("\n".join(said) + "\n")


def run(command: str, folder: Path, context: str) -> str:
    """What a shell says to a command."""
    environment = os.environ | {"CONTEXT": context}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


class Bill:
    """What requests cost where a provider serves the longest prefix that it saw the last time."""

    def __init__(self) -> None:
        self._last: list[str] = []
        self.sent = self.cached = self.nano_dollars = 0

    def add(self, messages: list[Any]) -> tuple[int, int]:
        """Tokens of a request, and how many of them the cache has: whole messages."""
        now = [json.dumps(message) for message in messages]
        shared = next(
            (i for i, pair in enumerate(zip(now, self._last, strict=False)) if len(set(pair)) > 1),
            min(len(now), len(self._last)),
        )
        sizes = [(len(message) + 3) // 4 for message in now]
        sent, cached = sum(sizes), sum(sizes[:shared])
        self._last = now
        self.sent, self.cached = self.sent + sent, self.cached + cached
        self.nano_dollars += PRICES.cost_nano(Served(cached, written=sent - cached, uncached=0))
        return sent, cached

    def __str__(self) -> str:
        dollars = f"{self.nano_dollars / 10**9:.4f} USD"
        return f"{self.sent:6,} tokens, {self.cached:6,} of them cached, {dollars}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def shown(text: str, line: int) -> str:
    """One line of a text, cut."""
    said = (text.rstrip().splitlines() or [""])[line]
    return said if len(said) <= 108 else f"{said[:107]}…"


def work(dialect: Dialect, folder: Path, *, tell: bool) -> tuple[Bill, Bill]:
    """The agent at work, and what it would cost unedited; `tell` prints every step."""
    project(folder)
    bill, unedited = Bill(), Bill()
    messages = dialect.user("The nightly job fails. Find out why.")
    with Session.open(
        None, policy=POLICY, format=dialect.format, context_dir=str(folder)
    ) as session:
        for number, (said, name, arguments) in enumerate(SCRIPT, 1):
            out = session.prepare({"model": "m", dialect.key: messages})
            check(dialect, out.request)
            unedited.add(messages)
            sent, cached = bill.add(out.request[dialect.key])
            passed = ", after a pass" if out.report.passes else ""
            call: Call = {"id": f"call_{number}", "name": name, "arguments": arguments}
            if name == "sh":
                context = session.before_request()  # prepare wrote it; this says where
                answer = session.insert(call, run(arguments["command"], folder, context))
            else:
                answer = session.after_call(call, session.call(name, arguments))
            messages += dialect.asks(said, call) + dialect.result(call, answer)
            if tell:
                say(f"{number:2}. {sent:,} tokens, {cached:,} of them cached{passed}")
                say(f"    {said} {name} {shown(' '.join(arguments.values()), 0)}".rstrip())
                say(f"    > {shown(answer, -1)}")
    return bill, unedited


def main() -> None:
    for place, dialect in enumerate(DIALECTS):
        with tempfile.TemporaryDirectory() as folder:
            bill, unedited = work(dialect, Path(folder), tell=place == 0)
        say(f"{dialect.format}, {len(SCRIPT)} requests, each valid")
        say(f"    as sent   {bill}")
        say(f"    unedited  {unedited}")


if __name__ == "__main__":
    main()
