"""Items of the Responses API for tests of its lens, and what they become."""

import msgspec

from compactor.core.model import Entry, Part, PartKind
from compactor.formats.media import digest_of
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.raw.native import compact_json

LENS = OpenAIResponses()
GIF = "R0lGODlhgAJoAQAA"  # 640x360


def read(*items, **body):
    return LENS.read({"input": list(items), **body})


def facts(reading):
    return [msgspec.structs.asdict(entry) for entry in reading.entries]


def entry(kind, index, **more):
    return msgspec.structs.asdict(Entry(kind=kind, at=("input", index), **more))


def text(words):
    return Part(PartKind.TEXT, words)


def opaque(native):
    spelled = compact_json(native)
    return Part(PartKind.OTHER, size=len(spelled), digest=digest_of(spelled))


def said(words, **more):
    return {"type": "input_text", "text": words, **more}


def reply(words):
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content}


def call(call_id, arguments="{}", name="grep", **more):
    made = {"call_id": call_id, "name": name, "arguments": arguments}
    return {"type": "function_call", **made, **more}


def output(call_id, body, kind="function_call_output", **more):
    return {"type": kind, "call_id": call_id, "output": body, **more}


def chunk(stdout, stderr="", outcome="exit"):
    ended = {"type": "timeout"} if outcome == "timeout" else {"type": "exit", "exit_code": 1}
    return {"stdout": stdout, "stderr": stderr, "outcome": ended}
