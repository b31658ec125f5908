"""Edits in the JSON texts that strings hold: in Python objects and in text, all around kept."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_sources import NEW_VALUES, addresses, outermost

from compactor.core.errors import InternalError
from compactor.formats.messages import value_at
from compactor.formats.raw.native import REMOVE, Edit, apply_edits, compact_json, read_document
from compactor.formats.raw.within import Within, within

INNER = {"a": [{"t": "é’x 😀\n"}, {"t": "two"}], "b": 'q"/\\', "n": 1.50}


def edited(text: str, edits: list[Edit]) -> str:
    return read_document(text.encode(), "t").edited(edits).decode()


SPELLINGS = {
    "escaped": lambda inner: json.dumps({"z": 1, "in": json.dumps(inner)}),
    "raw": lambda inner: json.dumps(
        {"z": 1, "in": json.dumps(inner, ensure_ascii=False)}, ensure_ascii=False
    ),
    "escaped in raw": lambda inner: json.dumps(
        {"z": 1, "in": json.dumps(inner)}, ensure_ascii=False
    ),
    "raw in escaped": lambda inner: json.dumps(
        {"z": 1, "in": json.dumps(inner, ensure_ascii=False)}
    ),
    "indented": lambda inner: json.dumps({"z": 1, "in": json.dumps(inner, indent=2)}, indent=1),
    "twice": lambda inner: json.dumps({"z": 1, "in": json.dumps(json.dumps(inner))}),
    "slashes": lambda inner: json.dumps({"z": 1, "in": json.dumps(inner)}).replace("/", "\\/"),
}


def held(text: str) -> Any:
    """What the string says, however often it is spelled as a string."""
    value = json.loads(text)["in"]
    while isinstance(value, str):
        value = json.loads(value)
    return value


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_an_edit_changes_its_own_value_and_no_other_character(spell: Any) -> None:
    text = spell(INNER)
    new = edited(text, [Edit(("in", "a", 1, "t"), "X")])
    assert new == text.replace("two", "X")


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_several_edits_in_one_string_compose(spell: Any) -> None:
    edits = [
        Edit(("in", "a", 1, "t"), 'new\n"é'),
        Edit(("in", "a", 0, "t"), "first"),
        Edit(("in", "c"), {"k": "v"}),
        Edit(("in", "b"), REMOVE),
    ]
    wanted = {"a": [{"t": "first"}, {"t": 'new\n"é'}], "n": 1.5, "c": {"k": "v"}}
    new = edited(spell(INNER), edits)
    assert held(new) == wanted
    assert json.loads(new)["z"] == 1
    objects = apply_edits(json.loads(spell(INNER)), edits)
    assert objects == json.loads(new)


@given(st.data())
def test_edits_in_a_string_are_those_of_the_value_that_it_holds(data: st.DataObject) -> None:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=8,
    )
    inner = data.draw(st.lists(values, min_size=1) | st.dictionaries(st.text(), values, min_size=1))
    places = [at for at in addresses(inner) if at]
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(places), NEW_VALUES), max_size=4))
    plain = [Edit(at, value) for at, value in outermost([Edit(*each) for each in drawn]).items()]
    ascii_in, ascii_out = data.draw(st.tuples(st.booleans(), st.booleans()))
    source = json.dumps({"in": json.dumps(inner, ensure_ascii=ascii_in)}, ensure_ascii=ascii_out)
    source = source.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    root = read_document(source.encode(), "t").root
    inside = [Edit(("in", *at), value) for at, value in plain]
    wanted = apply_edits(json.loads(root["in"]), plain)
    new = json.loads(edited(source, inside))
    assert compact_json(json.loads(new["in"])) == compact_json(wanted)
    assert apply_edits(root, inside) == new


def test_a_row_of_json_lines_is_edited_inside_its_strings() -> None:
    data = b'{"a": "[1, {\\"b\\": \\"x\\"}]"}\n{"c": 1}\n'
    document = read_document(data, "t")
    assert document.edited([Edit((0, "a", 1, "b"), "y")]) == data.replace(b"x", b"y")
    assert document.raw((0, "a", 1, "b")) == '\\"x\\"'


@pytest.mark.parametrize(
    "path",
    [
        ("in", "c", "d"),
        ("in", "a", 9),
        ("in", "a", "x"),
        ("in", 0),
        ("z", "a"),
        ("t", "a"),
        ("t", 0),
    ],
)
def test_an_address_that_does_not_exist_in_a_string_is_an_error(
    path: tuple[str | int, ...],
) -> None:
    root = {"z": 1, "t": "no json", "in": json.dumps(INNER)}
    with pytest.raises(InternalError):
        apply_edits(root, [Edit(path, "x")])
    with pytest.raises(InternalError):
        edited(json.dumps(root), [Edit(path, "x")])


def test_of_equal_keys_the_last_is_entered() -> None:
    text = '{"in": "no json", "in": "{\\"a\\": 1}"}'
    assert edited(text, [Edit(("in", "a"), 2)]) == text.replace("1", "2")


def test_a_step_remembers_what_its_string_says_until_the_string_changes() -> None:
    root = {"in": '[{"a": 1}]'}
    step = within("in", root["in"])
    assert isinstance(step, Within)
    assert (step, hash(step), {"in": 5}[step]) == ("in", hash("in"), 5)
    assert value_at(root, (step, 0)) is step.value[0]
    assert value_at({"in": '[{"a": 1}]'}, (step, 0)) is step.value[0]
    assert value_at({"in": '[{"a": 2}]'}, (step, 0, "a")) == 2
    assert value_at({"in": '"[{\\"a\\": 3}]"'}, ("in", 0, "a")) == 3
    assert apply_edits(root, [Edit((step, 0, "a"), "x")]) == {"in": '[{"a": "x"}]'}
    assert value_at(root, (pickle.loads(pickle.dumps(step)), 0, "a")) == 1


@pytest.mark.parametrize("text", ["", "x", "5", '"x"', "null", "[1", "{} x", None, 5, '"[1"'])
def test_a_text_that_holds_no_object_and_no_list_is_not_entered(text: Any) -> None:
    assert within("in", text) is None
