"""What observers write of the tokens that a provider counted, in one meaning.

Writers differ in names, and in whether input and output hold what was cached and thought. Where a
total says so, it decides; where what was cached is more than the input, it cannot be in it.
Specification: DESIGN section 9; semantic-conventions-genai; OpenInference; Langfuse's mappings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from compactor.core.model import Usage
from compactor.formats.messages import field

_INPUTS: Final = (
    *("input", "input_tokens", "promptTokens", "prompt_tokens", "prompt"),
    *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    *("ai.usage.inputTokens", "ai.usage.promptTokens", "llm.token_count.prompt"),
    "llm.usage.prompt_tokens",
)
_OUTPUTS: Final = (
    *("output", "output_tokens", "completionTokens", "completion_tokens", "completion"),
    *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    *("ai.usage.outputTokens", "ai.usage.completionTokens", "llm.token_count.completion"),
    "llm.usage.completion_tokens",
)
_TOTALS: Final = (
    *("total", "total_tokens", "totalTokens", "gen_ai.usage.total_tokens"),
    *("llm.usage.total_tokens", "ai.usage.totalTokens", "llm.token_count.total"),
)
_READS: Final = (
    *("cache_read_input_tokens", "input_cache_read", "input_cached_tokens", "cached_tokens"),
    *("prompt_details.cache_read", "prompt_tokens_details.cached_tokens", "cachedInputTokens"),
    *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
    *("gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.details.cache_read_input_tokens"),
    *("gen_ai.usage.input_tokens.cached", "ai.usage.inputTokenDetails.cacheReadTokens"),
    *("ai.usage.cachedInputTokens", "llm.token_count.prompt_details.cache_read"),
    *("cache_read", "input_cache_read_tokens"),
)
_WRITES: Final = (
    *("cache_creation_input_tokens", "input_cache_creation", "prompt_details.cache_write"),
    *("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
    *("gen_ai.usage.cache_write_input_tokens", "gen_ai.usage.details.cache_write_tokens"),
    *("gen_ai.usage.details.cache_creation_input_tokens", "cache_creation"),
    *("ai.usage.inputTokenDetails.cacheWriteTokens", "input_cache_creation_tokens"),
    "llm.token_count.prompt_details.cache_write",
)
_HOURS: Final = ("input_cache_creation_1h", "cache_creation_1h", "ephemeral_1h_input_tokens")
_MINUTES: Final = ("input_cache_creation_5m", "cache_creation_5m", "ephemeral_5m_input_tokens")


def usage_of_details(native: Any, model: str, time: int) -> Usage | None:
    """The usage of one request out of counts by name; None when nothing was counted."""
    if not isinstance(native, Mapping):
        return None
    prompt, output, total = (_first(native, keys) for keys in (_INPUTS, _OUTPUTS, _TOTALS))
    read, hour = _first(native, _READS), _first(native, _HOURS)
    write = max(_first(native, _WRITES), hour + _first(native, _MINUTES))
    if not any((prompt, output, total, read, write)):
        return None
    is_apart = read + write > prompt
    if total > prompt + output:  # what is cached, heard and thought stands beside
        beside = _others(native)
        is_apart = True
        output = max(total - prompt - read - write - beside, output)
        prompt += beside
    return Usage(
        n=0,
        input=prompt if is_apart else prompt - read - write,
        cache_read=read,
        cache_write=write,
        output=output,
        model=model,
        cache_write_1h=hour,
        time_ms=time,
    )


def _others(native: Mapping[str, Any]) -> int:
    """Input of other kinds, where a writer takes input apart."""
    return sum(count(native, key) for key in ("input_audio", "input_image", "input_tool_tokens"))


def _first(native: Any, keys: Iterable[str]) -> int:
    return next(filter(None, (count(native, key) for key in keys)), 0)


def count(native: Any, key: str) -> int:
    """A count, which exports write as a number or as its digits; 0 for anything that is none."""
    value = field(native, key)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value == value // 1:
        value = int(value)
    return value if type(value) is int and value > 0 else 0


_DIGITS: Final = re.compile("[0-9]{1,18}")
