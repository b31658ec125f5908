"""The Responses lens against OpenAI's own types, whole compactions, and recorded requests."""

import json
import runpy
from collections.abc import Iterable
from pathlib import Path

import pytest
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter, ValidationError

import compactor
from compactor.core.errors import InputError
from compactor.core.model import Kind
from compactor.formats import detect, lens
from compactor.formats.raw.native import apply_edits, read_document
from tests import pairing

INPUT = TypeAdapter(ResponseInputParam)
BIG = "a line of output\n" * 100
NAME = "openai-responses"


def taken_in(value):
    """Goes through everything, as iterables inside are only checked when they are gone through."""
    if isinstance(value, dict):
        return {key: taken_in(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [taken_in(inner) for inner in value]
    return value


def turn(number, made, output):
    """What a step of an agent adds: reasoning, a call, its output."""
    encrypted = "gAAAAA" + "x" * 60
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    key = "id" if made["type"] == "local_shell_call" else "call_id"
    call = made | {"call_id": f"call_{number}"}
    answer = {"type": f"{made['type']}_output", key: f"call_{number}", "output": output}
    return [thought | {"encrypted_content": encrypted}, call, answer]


def chunk(stdout, stderr=""):
    return {"stdout": stdout, "stderr": stderr, "outcome": {"type": "exit", "exit_code": 0}}


FUNCTION = {"type": "function_call", "id": "fc_1", "name": "bash", "arguments": '{"a":  1}'}
BLOCK = {"type": "input_text", "text": BIG, "prompt_cache_breakpoint": {"mode": "explicit"}}
IMAGE = {"type": "input_image", "image_url": "https://a/b.png", "detail": "auto"}
PATCH = {"type": "update_file", "path": "a.py", "diff": "+x"}
SCREEN = {"type": "computer_screenshot", "image_url": "https://a/s.png"}
STEPS = (
    (FUNCTION, BIG),
    (FUNCTION, [BLOCK, IMAGE]),
    ({"type": "custom_tool_call", "name": "sql", "input": "select 1"}, BIG),
    ({"type": "custom_tool_call", "name": "sql", "input": "select 2"}, [BLOCK]),
    ({"type": "shell_call", "action": {"commands": ["ls"]}}, [chunk("", BIG), chunk(BIG, "late")]),
    (
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
            "status": "completed",
        },
        json.dumps({"output": BIG}),
    ),
    (
        {
            "type": "computer_call",
            "id": "cu_1",
            "action": {"type": "screenshot"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        SCREEN,
    ),
    ({"type": "apply_patch_call", "operation": PATCH, "status": "completed"}, BIG),
    (FUNCTION, BIG),
)
HOSTED = [
    {"type": "mcp_call", "id": "mc_1", "name": "f", "arguments": "{}", "server_label": "s"}
    | {"output": BIG, "status": "completed"},
    {
        "type": "image_generation_call",
        "id": "ig_1",
        "result": "iVBORw0KGgo=",
        "status": "completed",
    },
]
SAID = {"type": "output_text", "text": "done", "annotations": []}
ITEMS = [
    {"role": "developer", "content": "be brief"},
    {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
    *(item for number, (made, output) in enumerate(STEPS) for item in turn(number, made, output)),
    *HOSTED,
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    | {"content": [SAID], "phase": "final_answer"},
    {"role": "user", "content": "more"},
]
PATCHED = next(at for at, item in enumerate(ITEMS) if item.get("type") == "apply_patch_call_output")
ITEMS[PATCHED] = ITEMS[PATCHED] | {"status": "completed"}
POLICY = compactor.Policy(window=4000, counter="chars4", keep_recent=2, evidence_budget_tokens=0)


def checked(items):
    """The items as OpenAI's types take them."""
    return taken_in(INPUT.validate_python(items))


def rewritten(items):
    """Every result that may change, changed."""
    entries = lens(NAME).read(items).entries
    results = [e for e in entries if e.kind is Kind.TOOL and not e.required and not e.empty]
    edits = [e for result in results for e in lens(NAME).rewrite_body(items, result, "[elided]")]
    return apply_edits(items, edits), results


def test_rewritten_items_are_what_the_sdk_takes():
    changed, results = rewritten(ITEMS)
    assert len(results) == 8
    assert checked(ITEMS) == ITEMS
    assert checked(changed) == changed != ITEMS


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text"}]},
        {"type": "shell_call_output", "call_id": "a", "output": [{"stdout": "x"}]},
        {"type": "computer_call_output", "call_id": "a", "output": "[elided]"},
    ],
)
def test_the_check_itself_refuses_an_item_of_the_wrong_shape(broken):
    with pytest.raises(ValidationError):
        checked([broken])


def test_a_compaction_changes_old_outputs_and_nothing_else():
    body = {"model": "gpt-5.4", "input": ITEMS, "store": False}
    out = compactor.compact(body, POLICY, explain=True)
    shown = out.request["input"]
    assert checked(shown) == shown
    assert pairing.problems(NAME, shown) == pairing.problems(NAME, ITEMS)
    assert {key: value for key, value in out.request.items() if key != "input"} == {
        "model": "gpt-5.4",
        "store": False,
    }
    changed = [old["type"] for old, new in zip(ITEMS, shown, strict=True) if old is not new]
    assert changed == [
        *["function_call_output"] * 2,
        *["custom_tool_call_output"] * 2,
        *("shell_call_output", "local_shell_call_output", "apply_patch_call_output"),
        "function_call_output",
    ]
    kept = [{name: value for name, value in item.items() if name != "output"} for item in shown]
    assert kept == [
        {name: value for name, value in item.items() if name != "output"} for item in ITEMS
    ]
    again = compactor.compact(body, POLICY, out.journal)
    assert (again.request, again.journal) == (out.request, out.journal)
    fates = [fate.fate for fate in out.fates]
    assert (fates.count("kept:required"), fates.count("elided")) == (1, 8)


def test_a_conversation_that_grows_is_an_extension_of_what_was_sent():
    journal, sent = None, None
    for end in [at for at, item in enumerate(ITEMS) if "output" in item] + [len(ITEMS) - 1]:
        request = ITEMS[: end + 1]
        before = journal.records if journal else ()
        out = compactor.compact(request, POLICY, journal, format=NAME)
        journal = out.journal
        if journal.records == before:
            assert out.request[: len(sent)] == sent
        sent = out.request
    whole = compactor.compact(ITEMS, POLICY, format=NAME)
    assert (whole.request, whole.journal.records) == (sent, journal.records)


SHARED = Path(__file__).resolve().parents[1].parent / "shared"
RECORDED = SHARED / "transcripts" / "openai-responses-http"


def requests():
    for path in sorted(RECORDED.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines()):
            request = json.loads(line)["request"]
            if "input" in request:
                yield pytest.param(request, id=f"{path.stem}:{number}")


if RECORDED.is_dir():
    oracle = runpy.run_path(str(SHARED / "bugs" / "oracle.py"))["responses"]

    @pytest.mark.parametrize("request_body", list(requests()))
    def test_a_recorded_request_is_compacted_or_refused(request_body):
        data = json.dumps(request_body, ensure_ascii=False, indent=1).encode()
        document = read_document(data, "t")
        assert document.edited([]) == data
        found = detect(document.root)
        assert found.name == NAME
        if request_body.get("previous_response_id") is not None:
            with pytest.raises(InputError) as caught:
                compactor.load(data)
            assert caught.value.code == "input.provider_history"
            return
        assert {f.code for f in found.read(document.root).findings} <= {"provider_compaction"}
        assert checked(request_body["input"]) == request_body["input"]
        tiny = compactor.Policy(
            window=40,
            counter="chars4",
            keep_recent=1,
            recent_tokens=0,
            evidence_budget_tokens=0,
            min_gain=0,
            min_freed=1,
        )
        out = compactor.compact(compactor.load(data), tiny)
        assert out.request.document.edited([]) == data
        again = json.loads(out.request.to_bytes())
        changed, results = rewritten(request_body["input"])
        for shown in (again["input"], changed):
            assert checked(shown) == shown
            assert oracle(shown) == oracle(request_body["input"])
        if results:
            assert changed != request_body["input"]

    def test_the_recorded_requests_are_of_every_kind_that_matters():
        bodies = [parameter.values[0] for parameter in requests()]
        kinds = {item.get("type") for body in bodies for item in body["input"]}
        assert kinds == {None, "compaction", "function_call", "function_call_output"}
        refused = sum("previous_response_id" in body for body in bodies)
        assert (len(bodies), refused) == (15, 4)
        assert sum(bool(rewritten(body["input"])[1]) for body in bodies) == 5
