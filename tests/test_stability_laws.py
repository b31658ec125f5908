"""What holds for cache stability over generated conversations in every format of requests.

What a harness does right is no break, whatever the conversation; what it does wrong is found at the
very place where it was done.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from compactor.core.model import Path
from compactor.formats.messages import value_at
from compactor.formats.raw.edits import Edit, apply_edits
from compactor.stability import CacheStability
from compactor.stability.conversations import Request
from tests.harness import FORMATS, as_bytes, grow, messages
from tests.strategies import cases

REQUESTS = tuple(name for name in FORMATS if name != "claude-code")
OF_MESSAGES = ("dropped", "inserted", "message order")
each_request_format = pytest.mark.parametrize("format_name", REQUESTS)


@each_request_format
@given(st.data())
def test_what_goes_on_is_no_break_and_passes_that_are_told_are_expected(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    untouched, compacted = CacheStability(), CacheStability()
    as_text = data.draw(st.booleans())
    for sent in grow(case):
        untouched.record(sent.native)
        compacted.passed(sent.outcome)
        compacted.record(as_bytes(sent.shown) if as_text else sent.shown)
    event(f"{min(len(compacted.breaks), 2)} breaks")
    assert (untouched.breaks, untouched.conversations) == ((), ("1",))
    assert (compacted.unexpected, compacted.conversations) == ((), ("1",))
    assert len(compacted.breaks) <= compacted.passes


@each_request_format
@given(st.data())
def test_a_text_that_is_rewritten_is_found_where_it_stands(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    natives = [case.talk.upto(count).write(format_name) for count in case.talk.boundaries]
    k = data.draw(st.integers(0, len(natives) - 1))
    places = list(texts(messages(natives[k])))
    assume(places)
    place = data.draw(st.sampled_from(places))
    text = data.draw(st.sampled_from(("rewritten", "", "2026-03-01T10:00:00Z", "é\n")))
    base = () if isinstance(natives[k], list) else (list_key(natives[k]),)
    at = (*base, *place)
    assume(value_at(natives[k], at) != text)
    stream = CacheStability(apart=False)
    stream.record(natives[k])
    stream.record(apply_edits(copy.deepcopy(natives[-1]), [Edit(at, text)]))
    [found] = stream.breaks
    if found.change.look in OF_MESSAGES:  # a text that another message says as well
        at = at[: len(found.change.at)]
    assert found.change.at == at
    first, second = (prefix(request) for request in stream.requests)
    offset = found.change.offset_bytes
    assert first[:offset] == second[:offset]
    assert first[offset : offset + 1] != second[offset : offset + 1]


def prefix(request: Request) -> bytes:
    """The whole prefix as compact JSON."""
    return b"".join(one.key.encode("utf-8", "surrogatepass") for one in request.segments)


def list_key(body: Any) -> str:
    return next(key for key in ("input", "contents", "messages") if key in body)


TEXTS = ("text", "content", "output", "arguments")


def texts(value: Any, at: Path = ()) -> Iterator[Path]:
    """Addresses of texts that a message says, and of what a call is made with."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        if isinstance(item, str) and key in TEXTS:
            yield (*at, key)
        elif isinstance(item, (dict, list)):
            yield from texts(item, (*at, key))
