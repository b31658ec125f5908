"""Recordings of whole requests: each holds its history anew, and the provider's count of it.

A lens of such recordings says where the requests are and what each sent; this file sorts them into
conversations (`chains`), reads the last request of the one that is wanted, and puts recorded usage
where that request shows what was sent. Addresses are those of the recording, so that a change is
made in the last request, and nowhere else. A history of which a request carries only the end is put
together from the requests and answers before it, where the file holds them.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compactor.core.model import Entry, Overhead, Path, Reading, Usage
from compactor.formats import blocks
from compactor.formats.lens import Lens
from compactor.formats.lens_bases import RunLens
from compactor.formats.messages import field, value_at
from compactor.formats.providers.anthropic import Anthropic
from compactor.formats.providers.bedrock import Bedrock
from compactor.formats.providers.gemini import Gemini
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.raw.native import Edit
from compactor.formats.runs import Run
from compactor.formats.traces.request_survey import Sent, Skipped, Survey


class RequestLog(RunLens):
    """A lens of recorded requests.

    Args:
        thread: one of `threads(root)`; "" is the largest conversation.
    """

    name: str

    def recognises(self, root: Any) -> bool:
        raise NotImplementedError

    def places(self, root: Any) -> Iterable[Path]:
        """Addresses of the records, oldest first."""
        raise NotImplementedError

    def record(self, root: Any, at: Path) -> Sent | Skipped | None:
        """What the record at an address is; None when it is none. O(the record)."""
        raise NotImplementedError

    def messages(self, root: Any) -> Sequence[Any]:
        raise NotImplementedError

    def read(self, root: Any, known: Reading | None = None) -> Reading:  # noqa: ARG002
        """Reads all anew. O(n), holding one request at a time.

        Raises:
            InputError: `input.shape` when it holds no record, or there is no such thread.
        """
        log = Survey(self, root)
        chain = log.chosen(self.thread)
        if chain is None:
            return Reading([], Overhead(), log.findings())
        reading = log.whole(root, chain)
        reading.findings += log.findings()
        return reading

    def runs(self, root: Any) -> Sequence[Run]:
        return Survey(self, root).runs

    def all_usage(self, root: Any) -> list[Usage]:
        return Survey(self, root, is_read=False).usage

    def rewrite_body(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        return _lens_of(value_at(root, entry.at)).rewrite_body(root, entry, text)

    def rewrite_argument(
        self, root: Any, entry: Entry, call: int, path: Path, text: str
    ) -> list[Edit]:
        """Nothing for a call that is only in the text of a stream."""
        found = entry.calls[call]
        return blocks.rewrite_argument(root, found, path, text) if found.at else []

    def remove_reasoning(self, root: Any, entry: Entry, text: str) -> list[Edit]:
        signed = next((part for part in entry.parts if part.signed), None)
        if signed is None:
            return []
        is_typed = isinstance(field(value_at(root, signed.at), "type"), str)
        lens = Anthropic() if is_typed else Bedrock()
        return lens.remove_reasoning(root, entry, text)

    def bind_reasoning(self, root: Any, binding: dict[str, str]) -> list[Edit] | None:  # noqa: ARG002
        """A recording has no place for what the next request says."""
        return None


def _lens_of(native: Any) -> Lens:
    """The lens that made the address of a result, by what stands there."""
    if field(native, "role") in ("tool", "function"):
        return OpenAIChat()
    kind = field(native, "type")
    if isinstance(kind, str):
        return Anthropic() if kind == "tool_result" else OpenAIResponses()
    return Bedrock() if field(native, "toolResult") is not None else Gemini()
