"""Addresses before and after edits that remove items."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactor.formats.raw.edits import REMOVE, Edit, apply_edits
from compactor.formats.raw.moved import Moved
from tests.json_sources import NEW_VALUES, addresses, draw_edits, is_new

ROOTS = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=12,
)


def value_at(root: object, at: tuple[str | int, ...]) -> object:
    for step in at:
        root = root[step]  # type: ignore[index]
    return root


@given(ROOTS, st.data())
def test_what_no_edit_touches_is_found_where_it_is_and_where_it_was(
    root: object, data: st.DataObject
) -> None:
    edits = draw_edits(data, root)
    edited, moved = apply_edits(root, edits), Moved(edits)
    gone = {edit.path for edit in edits}
    for at in addresses(root):
        after = moved.after(at)
        if is_new(root, at) or any(path[: len(at)] == at for path in gone):
            continue
        if any(at[:length] in gone for length in range(len(at))):
            assert after is None
            continue
        assert after is not None
        assert value_at(edited, after) == value_at(root, at)
        assert moved.before(after) == at


@given(st.lists(st.integers(0, 9)), st.lists(NEW_VALUES, min_size=1))
def test_what_was_added_behind_a_list_has_the_address_it_was_set_at(
    gone: list[int], added: list[object]
) -> None:
    root = [*range(10)]
    edits = [Edit((index,), REMOVE) for index in gone]
    edits += [Edit((10 + index,), value) for index, value in enumerate(added)]
    edited = apply_edits(root, edits)
    last = len(edited) - 1
    assert Moved(edits).before((last,)) == (9 + len(added),)
