"""What a request must also say where its provider binds reasoning to the prefix before it.

Under the policy `provider` signed reasoning stays, and the request asks the provider to drop the
blocks whose prefix an elision changed. Specification: DESIGN section 5, Signed reasoning;
providers.md section 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from compactor.core.errors import Finding
from compactor.core.fold import Fold
from compactor.formats.lens import Lens, SignedReasoning
from compactor.formats.native import Edit


class Request(Protocol):
    """The native request and its lens."""

    @property
    def lens(self) -> Lens: ...

    root: Any


class Bound(NamedTuple):
    """Edits of the body, HTTP headers, and what to tell the caller."""

    edits: list[Edit]
    headers: dict[str, str]
    findings: tuple[Finding, ...]


def bind(request: Request, fold: Fold) -> Bound:
    """What the request needs for signed reasoning after the first change; nothing mostly."""
    policy, lens = fold.rules.reasoning, request.lens
    concerned = bool(fold.elided) and any(seq > min(fold.elided) for seq in fold.signed[-1:])
    if policy == "keep" or not concerned:
        return Bound([], {}, ())
    if not isinstance(lens, SignedReasoning):
        text = f"policy {policy!r} concerns no reasoning of this format; it is kept"
        return Bound([], {}, (Finding("reasoning_kept", text),))
    if policy == "drop":
        return Bound([], {}, ())
    texts = fold.loop.reasoning
    name, value = texts.header
    edits = lens.bind_reasoning(request.root, texts.binding)
    must = f"send header {name}: {value} and thinking.block_binding as long as this history is sent"
    if edits is None:
        must += "; the input has no place for block_binding, so add it to the request yourself"
    return Bound(edits or [], {name: value}, (Finding("reasoning_bound", must),))
