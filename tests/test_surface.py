"""The public Python surface: names and signatures, types that come back, and what SDKs accept."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from anthropic.types.message_create_params import MessageCreateParams
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParams
from pydantic import TypeAdapter
from syrupy.assertion import SnapshotAssertion

import compactor
from compactor import Policy
from compactor.testing import Conversation
from tests.harness import as_bytes, each_format, grow, messages, native_of
from tests.strategies import Case, cases

LARGE = "a line of output\n" * 200


def surface() -> Iterator[str]:
    """Every public name with its signature; classes with fields and public members."""
    for name in sorted(compactor.__all__):
        member = getattr(compactor, name)
        if inspect.isclass(member):
            yield from _class(name, member)
        else:
            yield f"{name}{inspect.signature(member)}"
        yield ""


def _class(name: str, member: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in member.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(member, msgspec.Struct):
        for field in msgspec.structs.fields(member):
            yield f"    {field.name}: {_spelled(field.type)}{_default(field)}"
    elif "__init__" in vars(member):
        yield f"    __init__{inspect.signature(member.__init__)}"
    for own in sorted(_public(member)):
        found = inspect.getattr_static(member, own)
        if isinstance(found, property):
            yield f"    {own} (property)"
        elif callable(getattr(member, own)):
            kind = " (class method)" if isinstance(found, classmethod) else ""
            yield f"    {own}{inspect.signature(getattr(member, own))}{kind}"


def _public(member: type) -> set[str]:
    ours = [cls for cls in member.__mro__ if cls.__module__.startswith("compactor")]
    fields = set(getattr(member, "__struct_fields__", ()))
    return {name for cls in ours for name in vars(cls) if not name.startswith("_")} - fields


def _spelled(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is not msgspec.NODEFAULT:
        return f" = {field.default!r}"
    return " = (a new one)" if field.default_factory is not msgspec.NODEFAULT else ""


def test_the_public_surface(golden: SnapshotAssertion) -> None:
    assert "\n".join(surface()) == golden


@each_format
@given(st.data())
def test_untouched_messages_are_the_very_same_objects(
    format_name: str, data: st.DataObject
) -> None:
    case = data.draw(cases(format_name))
    for sent in grow(case):
        for old, new in zip(messages(sent.native), messages(sent.shown), strict=True):
            assert (old is new) == (as_bytes(old) == as_bytes(new))


class Messages(list[Any]):
    """A harness's own list."""


class Body(dict[str, Any]):
    """A harness's own dict."""


@each_format
def test_lists_and_dicts_come_back_as_their_own_type(format_name: str) -> None:
    talk = Conversation().user("go").call("bash", result=LARGE).assistant("so").user("more")
    policy = Policy(window=600, keep_recent=2, counter="chars4", overhead_tokens=0)
    native = native_of(Case(talk, policy, format_name))
    requests: list[Any] = [list(messages(native)), Messages(messages(native))]
    if isinstance(native, dict):
        key = next(name for name, value in native.items() if value is messages(native))
        requests += [native, Body(native), {**native, key: Messages(messages(native))}]
    for request in requests:
        out = compactor.compact(request, policy, format=format_name)
        assert len(out.report.passes) == 1
        assert type(out.request) is type(request)
        assert type(messages(out.request)) is type(messages(request))


def test_a_request_without_anything_to_do_comes_back_equal_and_the_same_messages() -> None:
    request = Conversation(model="claude-sonnet-4-5").user("go").assistant("so").anthropic()
    out = compactor.compact(request, Policy(window=10**6, counter="chars4"))
    assert out.request == request
    assert all(a is b for a, b in zip(out.request["messages"], request["messages"], strict=True))


@pytest.mark.parametrize(
    ("format_name", "params", "model"),
    [
        ("anthropic", MessageCreateParams, "claude-sonnet-4-5"),
        ("openai-chat", CompletionCreateParams, "gpt-5"),
    ],
)
def test_the_sdk_types_accept_every_compacted_request(
    format_name: str, params: Any, model: str
) -> None:
    accepts = TypeAdapter(params)
    elided = 0

    @given(cases(format_name))
    def every(case: Case) -> None:
        nonlocal elided
        case.talk.model = model
        for sent in grow(case):
            accepts.validate_python(sent.native)
            accepts.validate_python(sent.shown)
            elided += sum(fate.fate == "elided" for fate in sent.outcome.fates)

    every()
    assert elided > 20
