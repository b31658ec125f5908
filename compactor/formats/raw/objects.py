"""Native objects: dicts, and the models of provider SDKs, behind the same few functions.

A model is told by what it can do (pydantic 2: `model_fields`, `model_copy`), never imported. It is
taken for the object that its SDK sends: the fields that were set, by their names on the wire, but
for those in `__api_exclude__`. A change is a copy of the model. Everything in `formats` that asks
what an object holds asks here. Specification: DESIGN section 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from compactor.formats.raw.within import Within, inner_value


def is_object(native: Any) -> bool:
    """Whether a value is an object: a dict or a model."""
    return isinstance(native, dict) or is_model(native)


def is_model(native: Any) -> bool:
    """Whether a value is a model of an SDK."""
    kind = type(native)
    return hasattr(kind, "model_fields") and hasattr(kind, "model_copy")


def field(native: Any, key: str) -> Any:
    """A field of a native object; None when it is absent, null, or `native` is no object."""
    if isinstance(native, dict):
        return native.get(key)
    if native is None or isinstance(native, (str, list)) or not is_model(native):
        return None
    name = _attribute(native, key)
    return getattr(native, name) if name is not None else (native.model_extra or {}).get(key)


def step_into(native: Any, step: str | int) -> Any:
    """The value at one step of an address that exists; a step into a string enters its JSON."""
    if isinstance(step, Within):
        return step.value_in(native)
    if isinstance(native, str):
        native = inner_value(native)
    return field(native, str(step)) if is_model(native) else native[step]


def members(native: Any) -> Iterator[tuple[str, Any]]:
    """The keys and values of a native object that go over the wire, in order. O(its fields)."""
    if isinstance(native, dict):
        yield from native.items()
        return
    hidden = getattr(native, "__api_exclude__", ())
    hidden = hidden if isinstance(hidden, (set, frozenset)) else ()
    for name, info in type(native).model_fields.items():
        if name in native.model_fields_set and name not in hidden:
            yield info.alias or name, getattr(native, name)
    yield from (native.model_extra or {}).items()


def changed_model(native: Any, values: Mapping[str, Any], gone: Collection[str] = ()) -> Any:
    """A copy of a model with other values; the model itself and what it holds stay as they are.

    Args:
        values: key → value.
        gone: keys to be unset.
    """
    update = {_attribute(native, key) or key: value for key, value in values.items()}
    new = native.model_copy(update=update)
    for key in gone:
        name = _attribute(native, key)
        if name is None:
            (new.model_extra or {}).pop(key, None)
        else:
            new.__dict__[name] = type(native).model_fields[name].get_default()
            new.model_fields_set.discard(name)
    return new


def typed(native: Any, key: str, value: Any) -> Any:
    """A plain value as a model would hold it, so that its SDK sends it without a complaint.

    The models of OpenAI's and Anthropic's SDKs say so in `model_construct`, without validation;
    others hold the value as it is.
    """
    if not isinstance(value, (list, dict)):
        return value
    made = type(native).model_construct(**{key: value})
    return getattr(made, _attribute(native, key) or key, value)


def alike(native: Any, plain: dict[str, Any]) -> Any:
    """A plain object as a model of the kind that `native` is, where that can be one."""
    if not is_model(native):
        return plain
    try:
        return type(native).model_validate(plain)
    except ValueError:  # what pydantic raises is one
        return plain


def _attribute(native: Any, key: str) -> str | None:
    """The name of the attribute that holds a key, given by that name or by its name on the wire."""
    fields = type(native).model_fields
    if key in fields:
        return key
    return next((name for name, info in fields.items() if info.alias == key), None)
