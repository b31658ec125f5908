"""Writes the generated parts of the documentation: `python -m tests.regenerate`, or `./run docs`.

A part stands between `<!-- generated: NAME -->` and `<!-- end of NAME -->` and is made from what
the program itself uses: the click commands, the policy, the formats, the records, the sample.
`tests/test_docs.py` compares each page with what this makes now.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.docs import commands, sample, tables

ROOT = Path(__file__).resolve().parent.parent

PARTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "binding-models": tables.binding_models,
    "break": tables.a_break,
    "commands": commands.commands,
    "fates": tables.fates,
    "format-names": tables.format_names,
    "formats": tables.formats,
    "looks": tables.looks,
    "modules": tables.modules,
    "picture": sample.picture,
    "policy": tables.policy,
    "records": tables.records,
    "rewriting": tables.rewriting,
    "whys": tables.whys,
}
"""Name of a part → its lines."""

_PART = re.compile(r"<!-- generated: ([a-z-]+) -->\n(.*?)<!-- end of \1 -->", re.DOTALL)


def pages() -> list[Path]:
    """The README and every page of documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def parts_of(text: str) -> list[str]:
    """Names of the generated parts of a page."""
    return [match.group(1) for match in _PART.finditer(text)]


def rewritten(text: str) -> str:
    """A page with its generated parts made anew."""
    return _PART.sub(_made, text)


def main() -> None:
    """Rewrite the pages that changed, and name them."""
    for page in pages():
        old = page.read_text("utf-8")
        new = rewritten(old)
        if new != old:
            page.write_text(new, "utf-8", newline="\n")
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")


def _made(match: re.Match[str]) -> str:
    name = match.group(1)
    lines = "\n".join(PARTS[name]())
    return f"<!-- generated: {name} -->\n{lines}\n<!-- end of {name} -->"


if __name__ == "__main__":
    main()
