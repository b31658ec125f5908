"""Writes session.jsonl: an invented Claude Code session, the sample that the README compacts.

An agent looks for a bug in a small web shop, reads files, runs tests, greps a log, fixes it. Run it
again after a change: `python docs/sample/make.py > docs/sample/session.jsonl`. A test checks that
the file is what this makes.
"""

from __future__ import annotations

import sys

from compactor.testing import Conversation

MODULES = ("cart", "catalog", "checkout", "coupons", "invoices", "mailer", "pricing", "sessions")


def source(name: str, functions: int) -> str:
    """A module of the shop, numbered as a read tool shows it."""
    lines = [f'"""The {name} of the shop."""', "", "from shop import db, money", "", ""]
    for k in range(1, functions + 1):
        lines += [
            f"def {name}_step_{k}(order, *, currency='EUR'):",
            f'    """Step {k} of {name}: reads the order, writes one row."""',
            f"    row = db.fetch('{name}', order.id, step={k})",
            "    if row is None:",
            f"        raise LookupError(f'{name}: no row for order {{order.id}} at step {k}')",
            f"    total = money.add(row.net, row.tax, places={k % 4})",
            f"    return db.store('{name}', order.id, total=total, currency=currency)",
            "",
            "",
        ]
    return "".join(f"{number:5d}\t{line}\n" for number, line in enumerate(lines, 1))


def grep(word: str, hits: int) -> str:
    return "".join(
        f"shop/{MODULES[k % 8]}.py:{17 + 9 * k}:    total = money.{word}(row.net, row.tax)  # {k}\n"
        for k in range(hits)
    )


def test_run(failed: int) -> str:
    """What pytest prints."""
    lines = [f"tests/test_{name}.py {'.' * 38} [{12 * k + 12}%]" for k, name in enumerate(MODULES)]
    for k in range(failed):
        lines += [
            f"____ test_rounding_{k} ____",
            "    def test_rounding(order):",
            ">       assert pricing_step_3(order).total == money.of('19.99')",
            f"E       AssertionError: assert Money('20.{k:02d}') == Money('19.99')",
            "tests/test_pricing.py:88: AssertionError",
        ]
    return "\n".join([*lines, f"==== {failed} failed, {304 - failed} passed in 4.2s ====", ""])


def log(lines: int) -> str:
    return "".join(
        f"2026-03-0{1 + k % 9} 10:{k % 60:02d}:07 INFO shop.{MODULES[k % 8]} order={4000 + 7 * k} "
        f"step={k % 5} total={19 + k % 7}.{k % 100:02d} trace=ev_{k * 2654435761 % 2**32:08x}\n"
        for k in range(lines)
    )


def session() -> Conversation:
    talk = Conversation(model="claude-sonnet-4-5")
    talk.user("Orders over 20 EUR are one cent too dear since Friday. Find out why and fix it.")
    talk.assistant("I will look at the failing tests first.")
    talk.call("Bash", {"command": "pytest -q"}, result=test_run(9), error=True)
    for name in MODULES:
        path = f"/home/me/shop/{name}.py"
        talk.call("Read", {"file_path": path}, result=source(name, 11))
    talk.assistant("The totals come from money.add. I will see who calls it.")
    talk.call("Grep", {"pattern": "money.add"}, result=grep("add", 48))
    talk.call("Bash", {"command": "tail -120 shop.log"}, result=log(120))
    talk.call("Bash", {"command": "git diff HEAD~4"}, result="fatal: bad revision", error=True)
    talk.call("Read", {"file_path": "/home/me/shop/money.py"}, result=source("money", 16))
    talk.call("Bash", {"command": "git log --oneline -40"}, result=grep("round", 40))
    talk.assistant("`places` is passed on for step 3, so 19.995 is rounded up twice.")
    edit = {"file_path": "/home/me/shop/pricing.py", "old_string": "places=3", "new_string": ""}
    talk.call("Edit", edit, result="The file has been updated.")
    talk.call("Bash", {"command": "pytest -q"}, result=test_run(1), error=True)
    talk.call("Read", {"file_path": "/home/me/shop/pricing.py"}, result=source("pricing", 11))
    talk.call("Bash", {"command": "pytest -q"}, result=test_run(0))
    talk.assistant("All 304 tests pass. The cent came from rounding twice in pricing step 3.")
    talk.user("Thank you. Is the same mistake anywhere else?")
    return talk


if __name__ == "__main__":
    sys.stdout.buffer.write(session().claude_code())
