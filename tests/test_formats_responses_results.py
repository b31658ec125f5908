"""Outputs in the Responses lens: their bodies, errors, what must stay, and what is rewritten."""

import json

import pytest

from compactor.core.model import Kind, Part, PartKind
from compactor.formats.media import digest_of
from compactor.formats.raw.native import apply_edits, read_document
from tests.responses_kit import GIF, LENS, call, chunk, opaque, output, read, said, text

BODIES = {
    "text": ("plain", "plain"),
    "blocks": ([said("one"), said("two")], "one\ntwo"),
    "blocks of other dialects": ([{"type": "text", "text": "x"}], "x"),
    "an empty text": ("", ""),
    "no blocks": ([], ""),
    "null": (None, ""),
    "empty blocks": ([said("")], ""),
}
KINDS = ("function_call_output", "custom_tool_call_output")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("native", "body"), BODIES.values(), ids=BODIES)
def test_a_body_is_the_texts_of_an_output(kind, native, body):
    result = read(call("a"), output("a", native, kind)).entries[1]
    assert (result.body, result.parts, result.empty) == (body, (), not body)
    assert (result.error, result.required) == (False, False)


def test_media_have_a_kind_a_digest_and_patches_where_known():
    blocks = [
        said("see"),
        {"type": "input_image", "image_url": f"data:image/gif;base64,{GIF}", "detail": "auto"},
        {"type": "input_image", "image_url": "https://a/b", "detail": "low"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE"},
        {"type": "input_file", "file_id": "file_2"},
        {"type": "input_file", "file_url": "https://a/c.pdf"},
        {"type": "input_audio", "input_audio": {"data": "UklG" * 9999, "format": "wav"}},
    ]
    parts = (
        Part(PartKind.IMAGE, size=23 * 13, digest=digest_of(GIF)),
        Part(PartKind.IMAGE, digest=digest_of("https://a/b")),
        Part(PartKind.IMAGE, digest=digest_of("file_1")),
        Part(PartKind.DOCUMENT, digest=digest_of("JVBE")),
        Part(PartKind.DOCUMENT, digest=digest_of("file_2")),
        Part(PartKind.DOCUMENT, digest=digest_of("https://a/c.pdf")),
        Part(PartKind.DOCUMENT, digest=digest_of("UklG" * 9999)),
    )
    reading = read({"role": "user", "content": blocks}, call("a"), output("a", blocks))
    user, _, result = reading.entries
    assert user.parts == (text("see"), *parts)
    assert (result.body, result.parts) == ("see", parts)


def test_a_refusal_is_what_the_model_said():
    item = {"type": "message", "role": "assistant", "content": [{"type": "refusal"}]}
    item["content"][0]["refusal"] = "no"
    assert read(item).entries[0].parts == (text("no"),)


def test_the_streams_of_a_shell_are_its_body_in_order():
    chunks = [chunk("out", "err"), chunk("", "worse"), chunk("more")]
    result = read(
        {"type": "shell_call", "call_id": "a", "action": {"commands": []}},
        output("a", chunks, "shell_call_output"),
    ).entries[1]
    assert (result.name, result.body, result.error) == ("shell", "out\nerr\nworse\nmore", False)


ERRORS = {
    "a patch that failed": (
        output("a", "x", "apply_patch_call_output", status="failed"),
        True,
    ),
    "a patch that was made": (
        output("a", "x", "apply_patch_call_output", status="completed"),
        False,
    ),
    "a command that ran out of time": (
        output("a", [chunk("x"), chunk("", "", "timeout")], "shell_call_output"),
        True,
    ),
    "an exit code": (output("a", [chunk("x")], "shell_call_output"), False),
    "the status of a function's output": (output("a", "x", status="incomplete"), False),
    "words in an output": (output("a", '{"error": "failed"}'), False),
}


@pytest.mark.parametrize(("item", "is_error"), ERRORS.values(), ids=ERRORS)
def test_only_the_formats_own_flags_are_errors(item, is_error):
    assert read(call("a"), item).entries[1].error is is_error


def test_a_patch_without_an_output_is_empty():
    item = {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"}
    result = read(call("a"), item).entries[1]
    assert (result.body, result.empty, result.required) == ("", True, False)


@pytest.mark.parametrize("named", [{"id": "lsh_1"}, {"id": "c1"}, {"id": "o_1", "call_id": "c1"}])
def test_the_output_of_a_local_shell_finds_its_call_by_either_id(named):
    reading = read(
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": {"command": []}},
        {"type": "local_shell_call_output", "output": "{}", **named},
    )
    result = reading.entries[1]
    assert (result.call_id, result.name, result.body) == ("c1", "local_shell", "{}")
    assert reading.findings == []


def test_the_nearest_earlier_call_is_answered_where_ids_repeat():
    reading = read(
        *(
            item
            for words in ("one", "two", "three")
            for item in (call("run:0", json.dumps({"cmd": words})), output("run:0", words))
        )
    )
    assert [(e.call.arguments, e.body) for e in reading.entries if e.call] == [
        ('{"cmd":"one"}', "one"),
        ('{"cmd":"two"}', "two"),
        ('{"cmd":"three"}', "three"),
    ]
    assert reading.findings == []


def test_an_output_without_a_call_id_may_name_its_tool():
    item = {"type": "function_call_output", "name": "notify", "output": "x"}
    reading = read(item)
    assert (reading.entries[0].call_id, reading.entries[0].name) == ("", "notify")
    assert reading.findings == []


SCREEN = {"type": "computer_screenshot", "image_url": "https://a/b"}
REQUIRED = {
    "a screenshot": (
        output("a", SCREEN, "computer_call_output"),
        (Part(PartKind.IMAGE, digest=digest_of("https://a/b")),),
    ),
    "tools that a search of the client found": (
        {"type": "tool_search_output", "call_id": "a", "tools": [{"name": "f"}]},
        (opaque([{"name": "f"}]),),
    ),
    "an encrypted block": (
        output("a", [{"type": "encrypted", "encrypted_content": "x"}]),
        (opaque({"type": "encrypted", "encrypted_content": "x"}),),
    ),
    "an encrypted item": (output("a", "", encrypted_content="x"), ()),
    "the call of a program": (
        output("a", "", caller={"type": "program", "caller_id": "p"}),
        (),
    ),
    "the call of a program's shell": (
        output("a", [], "shell_call_output", caller={"type": "program", "caller_id": "p"}),
        (),
    ),
    "an output of an odd shape": (output("a", {"rows": 3}), (opaque({"rows": 3}),)),
    "a shell's output of an odd shape": (
        output("a", [{"stdout": 3}], "shell_call_output"),
        (opaque([{"stdout": 3}]),),
    ),
    "an output of an unknown type": (
        output("a", "x", "hologram_call_output"),
        (opaque(output("a", "x", "hologram_call_output")),),
    ),
}


@pytest.mark.parametrize(("item", "parts"), REQUIRED.values(), ids=REQUIRED)
def test_some_results_must_not_change(item, parts):
    result = read(call("a"), item).entries[1]
    assert (result.kind, result.required, result.body, result.parts) == (
        *(Kind.TOOL, True, "", parts),
    )
    assert result.name == "grep"


SHAPES = {
    "a text": (
        "function_call_output",
        '"output" : "old\\u00e9" ,"x":1',
        '"output" : "M" ,"x":1',
    ),
    "a custom tool's text": ("custom_tool_call_output", '"output":"a"', '"output":"M"'),
    "a local shell's text": (
        "local_shell_call_output",
        '"output":"{\\"out\\": 1}", "id":"lo"',
        '"output":"M", "id":"lo"',
    ),
    "the log of a patch": (
        "apply_patch_call_output",
        '"output":"log","status":"failed"',
        '"output":"M","status":"failed"',
    ),
    "blocks": (
        "function_call_output",
        '"output":[{"type":"input_text","text":"a"},{"type":"input_image","file_id":"f"}]',
        '"output":[{"type":"input_text","text":"M"}]',
    ),
    "breakpoints inside": (
        "custom_tool_call_output",
        (
            '"output":[{"type":"input_text","text":"a","prompt_cache_breakpoint":'
            '{"mode":"explicit"}},{"type":"input_image","file_id":"f","prompt_cache_breakpoint":'
            '{"mode":"explicit","ttl":"12h"}}]'
        ),
        (
            '"output":[{"type":"input_text","text":"M","prompt_cache_breakpoint":'
            '{"mode":"explicit","ttl":"12h"}}]'
        ),
    ),
    "a shell's streams": (
        "shell_call_output",
        (
            '"max_output_length": 9,"output":[ {"stderr":"e","stdout":"s","outcome":'
            '{"type":"exit","exit_code":2},"x":null}, {"stdout":"t" ,"stderr":"",'
            '"outcome":{"type":"timeout"}} ]'
        ),
        (
            '"max_output_length": 9,"output":[ {"stderr":"","stdout":"M","outcome":'
            '{"type":"exit","exit_code":2},"x":null}, {"stdout":"" ,"stderr":"",'
            '"outcome":{"type":"timeout"}} ]'
        ),
    ),
    "a shell that only complained": (
        "shell_call_output",
        '"output":[{"stdout":"","stderr":"e","outcome":{"type":"exit","exit_code":1}}]',
        '"output":[{"stdout":"M","stderr":"","outcome":{"type":"exit","exit_code":1}}]',
    ),
}


@pytest.mark.parametrize(("kind", "before", "after"), SHAPES.values(), ids=SHAPES)
def test_a_rewritten_body_keeps_its_shape_and_every_other_byte(kind, before, after):
    source = (
        '{ "input":[ {"type":"function_call","arguments":"{ \\"z\\": 1}","name":"f",'
        '"call_id":"a"},\n {"call_id":"a", %s ,"type":"%s"} ],"temperature":0.10 }\n'
    )
    document = read_document((source % (before, kind)).encode(), "t")
    target = LENS.read(document.root).entries[1]
    edits = LENS.rewrite_body(document.root, target, "M")
    assert document.edited([]).decode() == source % (before, kind)
    assert document.edited(edits).decode() == source % (after, kind)
    again = LENS.read(read_document(document.edited(edits), "t").root).entries[1]
    assert (again.body, again.parts, again.error) == ("M", (), target.error)


@pytest.mark.parametrize("item", [output("a", None), {"type": "apply_patch_call_output"}])
def test_an_output_that_is_absent_is_not_rewritten(item):
    root = [call("a"), item]
    assert LENS.rewrite_body(root, LENS.read(root).entries[1], "M") == []


def test_a_long_string_in_arguments_is_replaced_inside_the_text_of_json():
    root = [call("c1", '{"path": "a.md",  "content": "# \\"quoted\\"", "tags": [null]}')]
    edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, ("content",), "[cut]")
    assert apply_edits(root, edits)[0]["arguments"] == (
        '{"path": "a.md",  "content": "[cut]", "tags": [null]}'
    )


def test_a_long_string_in_an_operation_is_replaced_in_its_place():
    operation = {"type": "update_file", "path": "a", "diff": "+" * 9}
    root = [{"type": "apply_patch_call", "call_id": "c1", "operation": operation}]
    edits = LENS.rewrite_argument(root, LENS.read(root).entries[0], 0, ("diff",), "[cut]")
    assert apply_edits(root, edits)[0]["operation"] == operation | {"diff": "[cut]"}


def test_a_custom_tools_input_is_replaced_as_a_whole():
    item = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
    edits = LENS.rewrite_argument([item], LENS.read([item]).entries[0], 0, (), "[cut]")
    assert apply_edits([item], edits) == [item | {"input": "[cut]"}]
