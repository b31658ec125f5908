"""The Python surface: `compact` and `render` on native requests, and the policy.

Specification: DESIGN sections 2 and 5, docs/python.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

import msgspec

from compactor import models as model_table
from compactor.core import policy as core_policy
from compactor.core import render as core_render
from compactor.core.count import Counter
from compactor.core.errors import JournalError, PolicyError
from compactor.core.journal import Journal
from compactor.models import ModelTable
from compactor.request import Asked, Outcome, decide_over, read_request, show

__all__ = ["Outcome", "Policy", "compact", "render"]


class Policy(core_policy.Policy, frozen=True, kw_only=True):
    __doc__ = core_policy.Policy.__doc__

    @classmethod
    def for_model(cls, name: str, **settings: Any) -> Policy:
        """A policy with the window and the counter of a model of the table.

        Raises:
            PolicyError: `policy.model_unknown`.
        """
        if model_table.facts(name) is None and "window" not in settings:
            raise model_table.unknown(name)
        return cls(model=name, **settings)

    @classmethod
    def load(cls, path: str | FilePath) -> Policy:
        """The policy of a `compactor.toml`, a `pyproject.toml` or the seed's JSON file.

        Raises:
            PolicyError: `policy.unknown_key` or `policy.range`, naming file and key.
        """
        from compactor.config import load_policy  # only who has a file pays for its parsers

        return cls(**msgspec.structs.asdict(load_policy(str(path))))


def compact(
    request: Any,
    policy: core_policy.Policy | None = None,
    journal: Journal | None = None,
    *,
    format: str | None = None,  # noqa: A002
    counter: Counter | None = None,
    recallable: bool | None = None,
    failed: Iterable[str] = (),
    pins: Iterable[int] = (),
    overflowed: bool = False,
    cold: bool = False,
    force: bool = False,
    explain: bool = False,
    place_breakpoints: bool = False,
    models: ModelTable | None = None,
) -> Outcome:
    """The request with old tool results elided, as it should be sent.

    Args:
        request: a request body (dict), a list of messages, or a `Transcript`. Never changed.
        policy: what to keep and when to act; None takes the request's own model.
        journal: of the call before. Without it the same bytes come out, for O(history) work.
        format: name of the format; None looks at the content.
        counter: counts tokens instead of the policy's.
        recallable: overrides the policy's.
        failed: ids of calls that failed, beside the format's own error flags.
        pins: seqs to keep verbatim, beside the policy's.
        overflowed: the provider refused this very request as too long.
        cold: the provider's cache has expired: a priced pass breaks nothing.
        force: start afresh where the journal belongs to another conversation.
        explain: also say the fate of every entry (O(history)).
        place_breakpoints: set cache breakpoints at the frontier, at the anchor and at the end of
            the request, as far as the provider's limit allows.
        models: what is known of models instead of the table that ships (`compactor.models.load`).

    Returns:
        an `Outcome`. With its journal a call costs O(new entries + entries between the old and the
        new cutoff + candidates); lists of messages are compared by object identity first, so hand
        over a new object when you change a message.

    Raises:
        InputError: the request cannot be read; `counter_changed`.
        PolicyError: the settings contradict themselves or no window is known.
        JournalError: the journal is damaged or belongs to another conversation.
    """
    failed = failed if isinstance(failed, str) else tuple(failed)
    _check_types(policy, journal, failed)
    asked = Asked(
        counter=counter,
        recallable=recallable,
        failed=tuple(failed),
        pins=tuple(pins),
        overflowed=overflowed,
        cold=cold,
        force=force,
        fates=explain,
        breakpoints=place_breakpoints,
        models=models,
    )
    return decide_over(read_request(request, journal, format), policy, journal, asked)


def render(request: Any, journal: Journal, *, format: str | None = None) -> Any:  # noqa: A002
    """The request as the journal shows it. Decides nothing; needs no policy.

    Args:
        request: as for `compact`.
        journal: of this conversation.

    Returns:
        the same shape and type as `request`.

    Raises:
        JournalError: `journal.foreign` when it was made for another conversation.
    """
    given = read_request(request, None, format)
    view = core_render.render(given.transcript.entries, journal)
    return show(given, view)


def _check_types(policy: Any, journal: Any, failed: Any) -> None:
    """What people hand over by mistake, said in words."""
    if policy is not None and not isinstance(policy, core_policy.Policy):
        raise PolicyError(
            f"a Policy was expected, not {type(policy).__name__}",
            code="policy.range",
            path="policy",
            hint="Policy(window=…), or Policy.load(FILE)",
        )
    if journal is not None and not isinstance(journal, Journal):
        raise JournalError(
            f"a Journal was expected, not {type(journal).__name__}",
            code="journal.damaged",
            path="journal",
            hint="hand over out.journal of the call before, or Journal.from_lines(…)",
        )
    if isinstance(failed, str) or not all(isinstance(call_id, str) for call_id in failed):
        raise PolicyError(
            "failed is a list of call ids",
            code="policy.range",
            path="failed",
            hint="failed=['toolu_1', …]",
        )
