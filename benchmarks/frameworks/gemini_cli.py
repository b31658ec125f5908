"""Gemini CLI's own masking service, of the npm package, called as its client calls it.

`GEMINI_CLI_CORE` names the folder of the package @google/gemini-cli-core as npm installed it; node
runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.frameworks.story import Case, Message, Step, Story

CORE = Path(os.environ.get("GEMINI_CLI_CORE", ""))
if not (CORE / "package.json").is_file():
    raise ModuleNotFoundError("GEMINI_CLI_CORE names no folder of @google/gemini-cli-core")
VERSION = json.loads((CORE / "package.json").read_text())["version"]
PACKAGE = "@google/gemini-cli-core"
NAME = "ToolOutputMaskingService"
CASES = (
    Case(NAME, {"protect": 50_000, "minimum": 30_000}, "gemini-cli-mask"),
    Case(NAME, {"protect": 8_000, "minimum": 4_000}, "gemini-cli-mask:protect=8000,minimum=4000"),
)


def requests(story: Story, case: Case) -> list[list[Message]]:
    """The messages of each request as the service leaves them."""
    given = {
        "core": str(CORE.resolve()),
        "options": {
            "protectionThresholdTokens": case.options["protect"],
            "minPrunableThresholdTokens": case.options["minimum"],
            "protectLatestTurn": True,
        },
        "requests": list(_requests(story)),
    }
    script = Path(__file__).with_suffix(".mjs")
    done = subprocess.run(
        ["node", str(script)], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    sent = json.loads(done.stdout)
    return [[plain for content in contents for plain in _plain(content)] for contents in sent]


def _requests(story: Story) -> Iterator[dict[str, Any]]:
    before: list[dict[str, Any]] = []
    for turn in story.turns:
        pending: dict[str, Any] = {"role": "user", "parts": [{"text": turn.said}]}
        for step in turn.steps:
            yield {"before": before, "pending": pending}
            before, pending = [_answer(step)], {"role": "user", "parts": _results(step)}


def _answer(step: Step) -> dict[str, Any]:
    calls = [
        {"functionCall": {"id": c.id, "name": c.name, "args": dict(c.arguments)}}
        for c in step.calls
    ]
    return {"role": "model", "parts": [*([{"text": step.text}] if step.text else []), *calls]}


def _results(step: Step) -> list[dict[str, Any]]:
    return [
        {"functionResponse": {"id": c.id, "name": c.name, "response": {"output": c.result or ""}}}
        for c in step.calls
    ]


def _plain(content: dict[str, Any]) -> Iterator[Message]:
    parts = content["parts"]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    for result in results:
        yield Message("tool", result["response"]["output"], result["id"])
    if not results:
        texts = "\n".join(part["text"] for part in parts if "text" in part)
        calls = tuple(part["functionCall"]["id"] for part in parts if "functionCall" in part)
        yield Message("assistant" if content["role"] == "model" else "user", texts, calls=calls)
