"""Claude Code: usage, rewriting, and lines that are strange or of another format."""

from __future__ import annotations

from typing import Any

import pytest
from claude_rows import call, prompt, read, result, said, shown, used
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.errors import InputError
from compactor.core.model import Kind, PartKind, Usage
from compactor.formats.harnesses.claude_code import ClaudeCode
from compactor.formats.raw.native import Rows, apply_edits

LENS = ClaudeCode()

# Usage.


def test_usage_is_the_last_lines_that_has_any_and_odd_numbers_count_nothing() -> None:
    odd = {"input_tokens": None, "output_tokens": -4, "cache_read_input_tokens": "7"}
    rows = [
        prompt("u", None, "go"),
        said("a", "u", "x", of="m1", usage=used(10, 1)),
        said("b", "a", "y", of="m1", usage=used(10, 5, cache_creation_input_tokens=3)),
        said("c", "b", "z", of="m1"),
        prompt("v", "c", "on"),
        said("d", "v", "w", of="m2", usage=odd),
    ]
    assert read(*rows).usage == (
        Usage(n=1, input=2, cache_read=10, cache_write=3, output=5, model="m"),
        Usage(n=3, model="m"),
    )


def test_calls_of_a_branch_that_was_left_are_in_all_usage_only() -> None:
    rows = [
        prompt("u", None, "go"),
        said("a", "u", "dead", usage=used(1, 1)),
        said("b", "u", "live", usage=used(2, 2), model="n"),
        said("c", "b", "error", usage=used(9, 9), model="<synthetic>"),
    ]
    reading = read(*rows)
    assert [usage.cache_read for usage in reading.usage] == [2]
    assert [usage.cache_read for usage in LENS.all_usage(Rows(rows))] == [1, 2]
    assert reading.model == "n"


# Rewriting.


def test_a_result_keeps_its_flags_and_its_cache_mark_when_it_is_rewritten() -> None:
    marked = {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    row = result("r", "a", "c1", [{"type": "text", "text": "one"}, image, marked])
    row["message"]["content"][0]["is_error"] = True
    root = Rows([prompt("u", None, "go"), call("a", "u", "c1"), row])
    entry = LENS.read(root).entries[2]
    assert (entry.body, entry.error, [p.kind for p in entry.parts]) == (
        "one\ntwo",
        True,
        [PartKind.IMAGE],
    )
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new[:2] == root[:2]
    assert new[2] == {
        **row,
        "message": {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "gone", "cache_control": {"type": "ephemeral"}}
                    ],
                    "is_error": True,
                }
            ],
        },
    }


def test_an_argument_is_rewritten_in_its_line() -> None:
    root = Rows([prompt("u", None, "go"), call("a", "u", "c1"), call("b", "a", "c2", of="m-a")])
    entry = LENS.read(root).entries[1]
    assert [c.arguments for c in entry.calls] == ['{"command":"c1"}', '{"command":"c2"}']
    new = apply_edits(root, LENS.rewrite_argument(root, entry, 1, ("command",), "gone"))
    assert [row is old for row, old in zip(new, root, strict=True)] == [True, True, False]
    assert new[2]["message"]["content"][0]["input"] == {"command": "gone"}


def test_the_lines_of_a_web_export_are_addressed_inside_it() -> None:
    rows = [prompt(None, None, "go"), call(None, None, "c1"), result(None, None, "c1", "one")]
    root = {"loglines": rows, "title": "x"}
    assert LENS.recognises(root)
    entry = LENS.read(root).entries[2]
    assert entry.at == ("loglines", 2, "message", "content", 0)
    new = apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
    assert new["loglines"][2]["message"]["content"][0]["content"] == "gone"
    assert LENS.messages(root) is rows


# What is no session, and what is a strange one.


@pytest.mark.parametrize(
    "root",
    [
        [{"role": "user", "content": "hi"}],
        {"messages": [{"role": "user", "content": "hi"}]},
        [{"type": "message", "message": {"role": "user", "content": "hi"}}],
        [{"type": "user", "content": "hi", "id": "1"}],
        [{"type": "summary", "summary": "x"}],
        {"loglines": {}},
        "text",
        None,
        [],
    ],
)
def test_what_is_no_session_is_not_claimed_and_refused(root: Any) -> None:
    assert not LENS.recognises(root)
    with pytest.raises(InputError) as refused:
        LENS.read(root)
    assert refused.value.code == "input.shape"


def test_strange_lines_are_said_and_never_raise() -> None:
    odd: list[Any] = [
        None,
        7,
        [],
        {},
        {"type": ["user"], "message": {"role": "user", "content": "x"}},
        {"type": "user", "uuid": "q", "message": "text"},
        {"type": "mail", "uuid": 5, "message": {"role": "user", "content": "x"}},
        {"type": "system", "uuid": "k", "subtype": "compact_boundary", "compactMetadata": 3},
        {"type": "system", "uuid": "l", "parentUuid": 3, "microcompactMetadata": {"x": 1}},
        {"type": "attachment", "uuid": "t", "attachment": "x"},
    ]
    rows = [
        prompt("u", None, "go"),
        said("a", "u", "one"),
        prompt("v", "a", 5),
        said("b", "v", "x"),
    ]
    reading = LENS.read(Rows([*odd, *rows]))
    assert [row[0] for row in shown(reading)] == ["user", "assistant", "user", "assistant"]
    assert [(f.code, f.path) for f in reading.findings] == [
        ("unknown_block", "$[12].message.content"),
        ("unknown_line", "$[4]"),
    ]
    assert reading.findings[-1].message.startswith("3 lines")


IDS = st.sampled_from(["a", "b", "c", "d", "", None, 5])
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": IDS}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": IDS, "name": IDS, "input": IDS}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": IDS, "content": IDS}),
    IDS,
)
MESSAGES = st.fixed_dictionaries(
    {"content": st.one_of(IDS, st.lists(BLOCKS, max_size=3))},
    optional={"id": IDS, "model": IDS, "usage": st.one_of(IDS, st.dictionaries(IDS, IDS))},
)
META = st.dictionaries(
    st.sampled_from(
        [
            "uuids",
            "allUuids",
            "headUuid",
            "tailUuid",
            "anchorUuid",
            "preservedMessages",
            "preservedSegment",
            "compactedToolIds",
        ]
    ),
    st.recursive(
        st.one_of(IDS, st.lists(IDS, max_size=3)),
        lambda inner: st.dictionaries(st.sampled_from(["uuids", "headUuid", "tailUuid"]), inner),
        max_leaves=4,
    ),
    max_size=4,
)
ROWS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "progress", None])},
    optional={
        "uuid": IDS,
        "parentUuid": IDS,
        "logicalParentUuid": IDS,
        "isSidechain": st.booleans(),
        "isCompactSummary": st.booleans(),
        "message": st.one_of(MESSAGES, IDS),
        "subtype": st.sampled_from(["compact_boundary", "microcompact_boundary"]),
        "compactMetadata": st.one_of(META, IDS),
        "microcompactMetadata": st.one_of(META, IDS),
        "attachment": st.one_of(IDS, st.just({"type": "file", "content": "x"})),
    },
)


@given(st.lists(st.one_of(ROWS, IDS), max_size=12))
def test_any_lines_are_read_or_refused_and_no_line_is_read_twice(rows: list[Any]) -> None:
    root = Rows(rows)
    LENS.all_usage(root)
    for name in ["", *LENS.threads(root)]:
        try:
            reading = ClaudeCode(name).read(root)
        except InputError:
            continue
        places = [entry.at for entry in reading.entries if entry.kind is not Kind.USER]
        assert len(places) == len(set(places))
        for entry in reading.entries:
            if entry.kind is Kind.TOOL:
                apply_edits(root, LENS.rewrite_body(root, entry, "gone"))
