"""Tables and cells in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table, a line each."""
    heads = tuple(heads)
    yield _row(heads)
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield _row(row)


def code(text: str) -> str:
    """A text as code; nothing of nothing."""
    return f"`{text}`" if text else ""


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def code_blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language on a page, in order."""
    text = page.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
