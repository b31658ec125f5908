"""What the tests of the report share: hostile talks, pages, and what a page holds."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import compactor
from compactor import Policy
from compactor.replay import Bench
from compactor.replay.page import Shown, Told, html, tell
from compactor.replay.sums import Replay
from compactor.testing import Conversation

POLICIES = ("none", "threshold", "mask:last=3")
HOSTILE = (
    "</script><script>window.owned = 1</script><!-- <script> -->"
    "<img src=x onerror='window.owned=2'>\u2028\u2029\u202e\x00\x1b[31m\ud800 ]]> &lt; \" ' `"
    " ${window.owned=3} \\u003c javascript:alert(1)"
)
VOID = {"meta", "link", "br", "img", "input", "hr"}


def hostile_talk(turns: int = 12) -> Conversation:
    """A conversation whose every text tries to become markup."""
    talk = Conversation(system=HOSTILE).user(HOSTILE)
    for k in range(turns):
        talk.call(f"tool{HOSTILE}", {"x": HOSTILE, "n": k}, result=f"{k} {HOSTILE}\n" * 40)
    return talk


def bench_of(talk: Conversation, window: int = 6000) -> Bench:
    policy = Policy(window=window, counter="chars4")
    return Bench(compactor.load(talk.anthropic()), policy, cache="prefix")


def shown_of(bench: Bench, name: str = "a", policies: tuple[str, ...] = POLICIES) -> Shown:
    traces = [bench.trace(policy) for policy in policies]
    return Shown(name, [trace.replay for trace in traces], tell(name, bench, traces))


def told_of(bench: Bench, policies: tuple[str, ...] = POLICIES) -> tuple[Told, Sequence[Replay]]:
    shown = shown_of(bench, policies=policies)
    assert shown.told is not None
    return shown.told, shown.replays


def page_of(talk: Conversation, name: str = "a") -> str:
    return html([shown_of(bench_of(talk), name)])


class Page(HTMLParser):
    """Elements of a page in order; every one of them ends where it must.

    Attributes:
        scripts: attributes and text; texts: text outside of them.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        elif inside == "style":
            self.styles.append(data)
        else:
            self.texts.append(data)

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0][1])

    @property
    def policy(self) -> dict[str, list[str]]:
        """The content security policy."""
        [content] = [a["content"] for tag, a in self.tags if "http-equiv" in a]
        assert content is not None
        rows = (re.split(r"\s+", row.strip()) for row in content.split(";"))
        return {name: values for name, *values in rows}
