"""`python -m benchmarks.frameworks [FILE…]`: the real packages beside our re-statements."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import compactor
from benchmarks.frameworks import ours
from benchmarks.frameworks.story import Case, Message, Story, story_of
from compactor.testing import Conversation, ToolCall

MODULES = (
    "langchain_agent", "pydantic_agent", "strands_agent", "maf_agent", "inspect_loop",
    "gemini_cli", "swe_agent",
)  # fmt: skip
NOT_RUN = {
    "opencode-prune": "opencode ships as one compiled program; no function of it can be called",
    "clear-tool-uses": "Anthropic's server does it, behind its API",
    "staircase": "lean-ctx is a compiled proxy without a function to call",
}
RECORDED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"
ANSWERS, LEAST = 80, 15
_RANDOM = re.compile(r"(?<=^Output too large\. Full output available at: ).*$", re.MULTILINE)


class Line(NamedTuple):
    """A strategy over all stories. edited: requests that it changed; same: as ours has them."""

    requests: int = 0
    edited: int = 0
    same: int = 0
    note: str = ""

    def with_story(self, name: str, story: Story, module: ModuleType, case: Case) -> Line:
        """One story more."""
        plain, mine = ours.requests(story, "none"), ours.requests(story, case.ours)
        real = module.requests(story, case)
        pairs = [(_named(a), _named(b)) for a, b in zip(real, mine, strict=False)]
        note = self.note
        if len(real) < len(mine):
            note = note or f"ends {name} itself after {len(real)} of {len(mine)} requests"
        differs = next((k for k, (a, b) in enumerate(pairs, 1) if a != b), None)
        if differs is not None:
            note = f"{name}, request {differs}: {_first_difference(*pairs[differs - 1])}"
        return Line(
            self.requests + len(pairs),
            self.edited + sum(a != b for a, b in zip(mine, plain[: len(pairs)], strict=False)),
            self.same + sum(a == b for a, b in pairs),
            note,
        )


def _named(messages: Sequence[Message]) -> list[Message]:
    """Without what a program makes up anew each time: names of files."""
    return [message._replace(text=_RANDOM.sub("…", message.text)) for message in messages]


def _first_difference(real: Sequence[Message], mine: Sequence[Message]) -> str:
    for a, b in zip(real, mine, strict=False):
        if a != b:
            return f"theirs {a.role} {a.call}{a.text[:60]!r}, ours {b.role} {b.call}{b.text[:60]!r}"
    return f"theirs has {len(real)} messages, ours {len(mine)}"


def invented() -> Conversation:
    """Turns of one and many calls, large and small results, shell output in sections."""
    talk = Conversation().user("Find the slow query.")
    for k in range(45):
        lines = "".join(f"line {i} of step {k}\n" for i in range(5 + k * 37 % 300))
        shell = f"Output: {lines}\nExit Code: {k % 3}" if k % 4 else lines
        talk.call("run_shell_command", {"n": k}, result=shell, text=f"Step {k}." if k % 3 else "")
        if k % 7 == 3:
            reads = [ToolCall("read_file", {"i": i}, lines[: 900 * i]) for i in range(4)]
            talk.parallel(reads, text="Reading.")
        if k % 10 == 9:
            talk.assistant(f"Part {k} is done.").user("Go on.")
    return talk.assistant("Done.")


def stories(paths: Sequence[str]) -> Iterator[tuple[str, Story]]:
    """The invented conversation, and files: those named, else the largest of each folder."""
    yield "invented", story_of(compactor.load(invented().entries(), "entries"), ANSWERS)
    for path in map(Path, paths) if paths else _largest():
        with contextlib.suppress(compactor.CompactorError):
            story = story_of(compactor.load(path), ANSWERS)
            if paths or len(story.steps) >= LEAST:
                yield path.name, story


def _largest() -> Iterator[Path]:
    for folder in sorted(RECORDED.glob("*/")):
        files = [file for file in sorted(folder.iterdir()) if file.suffix != ".md"]
        if files:
            yield max(files, key=lambda file: file.stat().st_size)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a strategy. 1 where a request differs or no package is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frameworks", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="recordings; default: see above")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    told, lines, missing = list(stories(given.files)), list[Line](), list[str]()
    for name in MODULES:
        try:
            module = importlib.import_module(f"benchmarks.frameworks.{name}")
        except ModuleNotFoundError as error:
            missing.append(f"{name}: not run: {error}")
            continue
        for case in module.CASES:
            line = Line()
            for title, story in told:
                line = line.with_story(title, story, module, case)
            lines.append(line)
            _say(f"{_version(module)}  {case.spelled}  =  {case.ours}")
            _say(f"  {line.requests} requests, {line.edited} edited, {line.same} the same")
            _say(f"  {line.note}" if line.note else "")
    for text in (*missing, *(f"{policy}: not run: {why}" for policy, why in NOT_RUN.items())):
        _say(text)
    if missing:
        _say("packages: pip install 'transcript-compactor[bench]'")
    return int(not lines or any(line.same < line.requests for line in lines))


def _version(module: ModuleType) -> str:
    known = getattr(module, "VERSION", None)
    return f"{module.PACKAGE} {known or importlib.metadata.version(module.PACKAGE)}"


def _say(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
