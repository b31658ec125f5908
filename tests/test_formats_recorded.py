"""Public bug inputs and recorded requests, where they lie beside the repository."""

import json
import runpy
from pathlib import Path

import pytest

from compactor.core.model import Kind
from compactor.formats import detect
from compactor.formats.raw.native import read_document

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
BUGS = {
    "B01": ("anthropic", [("orphan_result", "$.messages[0].content[0]")]),
    "B05": ("anthropic", [("unanswered_call", "$.messages[3].content[1]")]),
    "B08": ("anthropic", []),
    "B11": ("openai-chat", []),
    "B13": ("anthropic", []),
    "B18": ("openai-chat", []),
    "B36": ("anthropic", []),
    "B41": ("anthropic", []),
    "B43": ("anthropic", [("empty_text", "$.messages[3].content[0]")]),
    "B59": ("anthropic", []),
    "B62": ("anthropic", []),
    "B64": ("anthropic", []),
    "B68": ("openai-chat", []),
    "B70": ("anthropic", []),
}
RECORDED = (
    ("anthropic-http/*.jsonl", "anthropic"),
    ("openai-chat-http/pyai*.jsonl", "openai-chat"),
    ("mini-swe-agent/*.json", "openai-chat"),
)


def rewrite_all(data):
    """Reads bytes, rewrites every candidate at once, and gives both roots and the candidates."""
    document = read_document(data, "t")
    assert document.edited([]) == data
    found = detect(document.root)
    entries = found.read(document.root).entries
    results = [e for e in entries if e.kind is Kind.TOOL and not e.empty and not e.required]
    edits = [e for r in results for e in found.rewrite_body(document.root, r, "[elided]")]
    again = json.loads(document.edited(edits))
    reread = found.read(again).entries
    assert len(reread) == len(entries)
    for old, new in zip(entries, reread, strict=True):
        is_rewritten = old in results
        assert new.body == ("[elided]" if is_rewritten else old.body)
        assert (new.kind, new.calls, new.call_id, new.error) == (
            *(old.kind, old.calls, old.call_id, old.error),
        )
    return document.root, again, found.name, results


if SHARED.is_dir():
    oracle = runpy.run_path(str(SHARED / "bugs" / "oracle.py"))
    checks = {"anthropic": oracle["anthropic"], "openai-chat": oracle["openai_chat"]}

    @pytest.mark.parametrize("bug", BUGS)
    def test_a_reported_input_is_read_rewritten_and_no_worse_than_before(bug):
        name, findings = BUGS[bug]
        data = (SHARED / "bugs" / f"{bug}.json").read_bytes()
        root, again, found, results = rewrite_all(data)
        reading = detect(root).read(root)
        assert (found, [(f.code, f.path) for f in reading.findings]) == (name, findings)
        assert results
        check = checks[name]
        assert check(again["messages"]) == check(root["messages"])

    def requests():
        for pattern, name in RECORDED:
            for path in sorted((SHARED / "transcripts").glob(pattern)):
                lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [None]
                for number, line in enumerate(lines):
                    root = json.loads(line if line is not None else path.read_text())
                    request = root["request"] if line is not None else root
                    yield pytest.param(request, name, id=f"{path.stem}:{number}")

    @pytest.mark.parametrize(("request_body", "name"), list(requests()))
    def test_a_recorded_request_is_read_and_rewritten(request_body, name):
        root, again, found, _ = rewrite_all(json.dumps(request_body).encode())
        assert found == name
        items = root if isinstance(root, list) else root["messages"]
        reread = again if isinstance(again, list) else again["messages"]
        assert checks[name](reread) == checks[name](items)
        assert [f.code for f in detect(root).read(root).findings] == []
