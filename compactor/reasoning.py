"""What a request must also say where its provider binds reasoning to the prefix before it.

Under the policy `provider` signed reasoning stays, and the request asks the provider to drop the
blocks whose prefix an elision changed. Under `drop` the view has none of them. What the caller has
to do for either is a finding. Specification: DESIGN section 5, Signed reasoning; providers.md
section 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from compactor.core.errors import Finding
from compactor.core.fold import Fold
from compactor.core.model import Kind
from compactor.formats.lens import Lens, SignedReasoning
from compactor.formats.raw.edits import Edit
from compactor.formats.raw.objects import field, is_object


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


_NOTHING = Bound([], {}, ())


def bind(request: Request, fold: Fold) -> Bound:
    """What the request needs for signed reasoning after the first change; nothing mostly."""
    policy, lens, texts = fold.rules.reasoning, request.lens, fold.loop.reasoning
    first = _first_change(fold)
    if policy == "keep" or first is None:
        return _NOTHING
    if not isinstance(lens, SignedReasoning):
        text = f"reasoning of format {lens.name!r} stays as it is, whatever the policy ({policy})"
        return Bound([], {}, (Finding("reasoning_kept", text),))
    if policy == "drop":
        return _dropped(request, fold)
    if not fold.signed.seqs or fold.signed.seqs[-1] <= first:
        return _NOTHING
    name, value = texts.header
    edits = lens.bind_reasoning(request.root, texts.binding)
    if edits is None:
        return Bound([], {name: value}, (_unbound(request.root, texts.binding),))
    text = f"send header {name}: {value} and thinking.block_binding as long as this history is sent"
    return Bound(edits, {name: value}, (Finding("reasoning_bound", text),))


def _first_change(fold: Fold) -> int | None:
    """The first entry that is shown otherwise than it was handed in."""
    view = fold.view
    return min([*view.changed[:1], *view.runs, *view.replies], default=None)


def _unbound(root: Any, binding: dict[str, str]) -> Finding:
    """The provider would refuse this request; what the caller can do about it."""
    if is_object(root):
        why = "thinking as this request has it takes no block_binding: use adaptive thinking"
    else:
        why = f"the input has no place for thinking.block_binding: put {binding} into the request"
    text = f"{why}, or remove the reasoning (reasoning = drop)"
    return Finding("reasoning_unbound", text)


def _dropped(request: Request, fold: Fold) -> Bound:
    """With manual thinking the provider wants the turn in progress to begin with its thinking."""
    is_manual = field(field(request.root, "thinking"), "type") == "enabled"
    last = fold.answered(fold.n) - 1
    if not is_manual or last not in fold.view.unreasoned or fold.entries[-1].kind is Kind.USER:
        return _NOTHING
    text = (
        "the pass came in the middle of a turn, whose thinking it removed; thinking of type "
        "enabled needs it there: use adaptive"
    )
    return Bound([], {}, (Finding("reasoning_missing", text, seq=last),))
