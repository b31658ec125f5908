"""What a provider keeps, clears or summarises itself: refused, or carried with one finding.

One line a setting of a request, in every format that has it (providers.md B).
"""

from __future__ import annotations

from typing import Any

import pytest

import compactor
from compactor import Policy
from compactor.core.errors import InputError
from compactor.testing import Conversation

POLICY = Policy(window=10**6, counter="chars4")
TALK = Conversation(system="be brief", model="m").user("go").call("f", {}, result="x")
SUMMARY = {"type": "compaction", "content": "so far", "signature": "s", "encrypted_content": "e"}


@pytest.mark.parametrize(
    ("format_name", "fields", "path"),
    [
        ("anthropic", {"thread": {"type": "continue", "previous_message_id": "msg_1"}},
         "$.thread.previous_message_id"),
        ("openai-responses", {"previous_response_id": "resp_1"}, "$.previous_response_id"),
        ("openai-responses", {"conversation": "conv_1"}, "$.conversation"),
        ("openai-responses", {"conversation": {"id": "conv_1"}}, "$.conversation"),
        ("gemini", {"cachedContent": "cachedContents/1"}, "$.cachedContent"),
        ("gemini", {"cached_content": "cachedContents/1"}, "$.cached_content"),
        ("gemini", {"config": {"cached_content": "cachedContents/1"}}, "$.config.cached_content"),
        ("gemini", {"previous_interaction_id": "int_1"}, "$.previous_interaction_id"),
    ],
)  # fmt: skip
def test_a_history_that_the_provider_keeps_is_refused(
    format_name: str, fields: dict[str, Any], path: str
) -> None:
    request = TALK.write(format_name) | fields
    with pytest.raises(InputError) as caught:
        compactor.compact(request, POLICY, format=format_name)
    assert (caught.value.code, caught.value.path) == ("input.provider_history", path)
    assert "full history" in caught.value.hint
    with pytest.raises(InputError) as caught:
        compactor.compact(request, POLICY)
    assert caught.value.code == "input.provider_history"


@pytest.mark.parametrize(
    ("format_name", "fields", "code"),
    [
        ("anthropic", {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
         "provider_context_management"),
        ("anthropic", {"compaction": {"type": "summarize"}}, "provider_compaction"),
        ("anthropic", {"thread": {"type": "create"}}, "provider_thread"),
        ("openai-responses", {"context_management": [{"type": "compaction"}]},
         "provider_context_management"),
        ("openai-responses", {"truncation": "auto"}, "provider_truncation"),
    ],
)  # fmt: skip
def test_what_the_provider_does_besides_is_carried_with_one_finding(
    format_name: str, fields: dict[str, Any], code: str
) -> None:
    request = TALK.write(format_name) | fields
    out = compactor.compact(request, POLICY, format=format_name)
    (finding,) = [f for f in out.report.findings if f.code.startswith("provider")]
    assert (finding.code, finding.path) == (code, f"$.{next(iter(fields))}")
    assert out.request == request


@pytest.mark.parametrize(
    ("format_name", "fields"),
    [
        ("anthropic", {"context_management": None, "compaction": None, "thread": None}),
        ("openai-responses", {"truncation": "disabled", "previous_response_id": None}),
        ("openai-responses", {"store": False, "conversation": None, "context_management": None}),
        ("gemini", {"cachedContent": None}),
    ],
)
def test_what_is_null_or_off_is_nothing(format_name: str, fields: dict[str, Any]) -> None:
    out = compactor.compact(TALK.write(format_name) | fields, POLICY, format=format_name)
    assert [f for f in out.report.findings if f.code.startswith("provider")] == []


def found(format_name: str, request: Any) -> list[tuple[str, str]]:
    out = compactor.compact(request, POLICY, format=format_name)
    assert out.request == request
    return [(f.code, f.path) for f in out.report.findings if f.code.startswith("provider")]


def test_a_summary_of_anthropic_in_the_history_is_said_and_a_failed_one_is_not() -> None:
    request = TALK.anthropic()
    request["messages"].append({"role": "assistant", "content": [SUMMARY]})
    assert found("anthropic", request) == [("provider_compaction", "$.messages[3].content[0]")]
    request["messages"][3]["content"] = [{"type": "compaction", "content": None}]
    assert found("anthropic", request) == []


def test_items_of_responses_that_stand_for_what_is_not_there_are_said() -> None:
    request = TALK.write("openai-responses")
    summary = {"type": "compaction", "encrypted_content": "e"}
    reference = {"type": "item_reference", "id": "msg_1"}
    request["input"] = [summary, reference, *request["input"]]
    assert found("openai-responses", request) == [
        ("provider_compaction", "$.input[0]"),
        ("provider_item_reference", "$.input[1]"),
    ]


def test_summaries_are_never_changed() -> None:
    talk = Conversation(model="m").user("go").call("bash", result="x" * 4000)
    request = talk.call("bash", result="y" * 4000).assistant("ok").user("more").anthropic()
    request["messages"].insert(3, {"role": "assistant", "content": [SUMMARY]})
    out = compactor.compact(request, Policy(window=2000, counter="chars4", keep_recent=1))
    assert [record["elided"] for record in out.report.passes] == [[2]]
    assert out.request["messages"][3] is request["messages"][3]
