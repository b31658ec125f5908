"""SWE-agent's own `LastNObservations`, of a checkout of its source; PyPI has none of it.

`SWE_AGENT` names the folder of the checkout. Two of its files are used, without its package.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.frameworks.story import Case, Message, Story

ROOT = Path(os.environ.get("SWE_AGENT", ""))
if not (ROOT / "sweagent" / "types.py").is_file():
    raise ModuleNotFoundError("SWE_AGENT names no checkout of SWE-agent")
PACKAGE, VERSION = "SWE-agent", "source"
NAME = "LastNObservations"
CASES = (
    Case(NAME, {"n": 5, "polling": 1}, "mask:last=5"),
    Case(NAME, {"n": 10, "polling": 5}, "mask:last=10,polling=5"),
)


def _loaded(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


sys.modules.setdefault("sweagent", ModuleType("sweagent"))
_loaded("sweagent.types", "sweagent/types.py")
PROCESSORS = _loaded("sweagent.history_processors", "sweagent/agent/history_processors.py")


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The history of each request as the processor leaves it."""
    processor: Any = PROCESSORS.LastNObservations(**case.options)
    history: list[dict[str, Any]] = []
    seen: list[list[Message]] = []
    for turn in story.turns:
        kind = "user" if history else "observation"  # the task counts as the first observation
        history.append(_item("user", turn.said, kind))
        for step in turn.steps:
            seen.append([_plain(item) for item in processor(history)])
            calls = tuple(call.id for call in step.calls)
            history.append(_item("assistant", step.text, "action") | {"calls": calls})
            for call in step.calls:
                item = _item("tool", call.result or "", "observation")
                history.append(item | {"tool_call_ids": [call.id]})
    return seen


def _item(role: str, content: str, kind: str) -> dict[str, Any]:
    return {"role": role, "content": content, "message_type": kind, "agent": "main"}


def _plain(item: dict[str, Any]) -> Message:
    content = item["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    [call] = item.get("tool_call_ids", [""])
    return Message(item["role"], text, call, item.get("calls", ()))
