"""What providers answered: counts in one meaning, and what streams say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactor.core.model import Usage
from compactor.formats.answers import Answer, answer_of, usage_of

COUNTS: dict[str, tuple[dict[str, Any], Usage]] = {
    "anthropic, whose input is what was not cached": (
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_1h_input_tokens": 20, "ephemeral_5m_input_tokens": 10},
            "output_tokens": 7,
        },
        Usage(0, 10, 100, 30, 7, cache_write_1h=20),
    ),
    "chat completions, whose prompt holds what was cached": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
        Usage(0, 40, 60, 0, 7),
    ),
    "responses": (
        {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}},
        Usage(0, 40, 60, 0, 7),
    ),
    "a gateway that says both, of a prompt that holds all": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60},
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 30,
        },
        Usage(0, 10, 60, 30, 7),
    ),
    "a gateway that counts what was cached beside the prompt": (
        {"prompt_tokens": 10, "completion_tokens": 7, "cache_read_input_tokens": 60},
        Usage(0, 10, 60, 0, 7),
    ),
    "a gateway whose request read what it had just written": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 90},
        },
        Usage(0, 10, 60, 30, 7),
    ),
    "cohere, which counts apart what it bills": (
        {
            "billed_units": {"input_tokens": 4, "output_tokens": 1},
            "tokens": {"input_tokens": 100, "output_tokens": 7},
            "cached_tokens": 60,
        },
        Usage(0, 40, 60, 0, 7),
    ),
    "deepseek": (
        {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "completion_tokens": 7},
        Usage(0, 36, 64, 0, 7),
    ),
    "gemini, with thoughts in the total": (
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            "candidatesTokenCount": 7,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 112,
        },
        Usage(0, 40, 60, 0, 12),
    ),
    "gemini, whose tools asked too": (
        {
            "promptTokenCount": 100,
            "toolUsePromptTokenCount": 20,
            "candidatesTokenCount": 7,
            "totalTokenCount": 127,
        },
        Usage(0, 120, 0, 0, 7),
    ),
    "converse": (
        {
            "inputTokens": 10,
            "outputTokens": 7,
            "cacheReadInputTokens": 60,
            "cacheWriteInputTokens": 30,
        },
        Usage(0, 10, 60, 30, 7),
    ),
    "what are no numbers": ({"prompt_tokens": "9", "completion_tokens": None}, Usage(0)),
}


@pytest.mark.parametrize(("counts", "wanted"), COUNTS.values(), ids=COUNTS)
def test_counts_get_one_meaning(counts: dict[str, Any], wanted: Usage) -> None:
    assert usage_of(counts, 0) == wanted


def stream(*events: Any) -> str:
    return "".join(f"event: x\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)


def test_the_counts_of_a_stream_are_those_it_ends_with() -> None:
    message = {"id": "m", "model": "claude-x", "usage": {"input_tokens": 9, "output_tokens": 1}}
    text = stream(
        {"type": "message_start", "message": message},
        {"type": "content_block_delta", "delta": {"text": 'says "usage": {"output_tokens": 5}'}},
        {
            "type": "message_delta",
            "usage": {"output_tokens": 40, "cache_read_input_tokens": 3, "input_tokens": None},
        },
    )
    assert answer_of(text) == Answer(Usage(0, 9, 3, 0, 40, "claude-x"), "m")


def test_the_last_chunk_of_a_completion_has_its_counts() -> None:
    chunks = [
        {"id": "c", "model": "gpt-x", "created": 2, "choices": [], "usage": None},
        {"id": "c", "model": "gpt-x", "created": 2, "usage": {"prompt_tokens": 5}},
    ]
    text = stream(*chunks) + "data: [DONE]\n\n"
    assert answer_of(text) == Answer(Usage(0, 5, model="gpt-x", time_ms=2000), "c")


def test_a_finished_response_says_what_came_out() -> None:
    output = [{"type": "message", "role": "assistant", "content": []}]
    done = {"id": "r", "model": "m", "output": output, "usage": {"input_tokens": 5}}
    text = stream({"type": "response.completed", "response": done})
    assert answer_of(text) == Answer(Usage(0, 5, model="m"), "r", output)
    assert answer_of(done) == Answer(Usage(0, 5, model="m"), "r", output, is_whole=True)


def test_chunks_in_a_list_are_read_as_a_stream() -> None:
    chunks = [{"usageMetadata": {"promptTokenCount": n}, "modelVersion": "g"} for n in (3, 4)]
    assert answer_of(chunks) == Answer(Usage(0, 4, model="g"))
    assert answer_of(json.dumps(chunks)) == Answer(Usage(0, 4, model="g"))


def test_an_error_without_counts_is_one() -> None:
    assert answer_of({"type": "error", "error": {"message": "no"}}) == Answer(
        is_error=True, is_whole=True
    )
    assert answer_of(stream({"type": "error", "error": {"message": "no"}})).is_error
    assert not answer_of({"error": None, "usage": {"input_tokens": 1}}).is_error


@pytest.mark.parametrize("native", [None, 5, "", "plain", "data: {broken\n", [], [5], {}])
def test_what_says_nothing_has_no_counts(native: Any) -> None:
    assert answer_of(native).usage is None


def test_who_asked_stands_in_where_the_answer_does_not_say() -> None:
    assert answer_of({"usage": {"input_tokens": 1}}, "asked", 7).usage == Usage(
        0, 1, model="asked", time_ms=7
    )
