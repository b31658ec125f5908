"""Anthropic Messages as far as its rules concern a compactor (reference providers.md 1, A1, C1).

Pairing, texts, cache breakpoints, and the binding of signed thinking to what stood before it; and
what its prompt cache would read and write. Error texts are the documented ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.fakes.script import Turn
from tests.fakes.server import RefusalError

BETA = "thinking-binding-controls-2026-08-01"
LOOK_BACK, MINIMUM = 20, 512
THINKING = ("thinking", "redacted_thinking")
SETTING = 'set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block"'


class Issued(NamedTuple):
    """A thinking block that was given out.

    own: its content; prefix: what stood before it, thinking aside; after: the signature of the
    thinking block before it, "" for the first.
    """

    own: str
    prefix: str
    after: str


class Anthropic:
    """The provider.

    Args:
        script: what the model says, one turn a request.
        binds: whether the model binds thinking to its prefix.

    `dropped` counts the thinking blocks that were left out of requests.
    """

    def __init__(self, script: Sequence[Turn], *, binds: bool = True) -> None:
        self.script = list(script)
        self.binds = binds
        self.requests: list[Any] = []
        self.usages: list[Any] = []
        self.dropped = 0
        self._issued: dict[str, Issued] = {}
        self._cache: set[str] = set()

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        if path.split("?")[0] != "/v1/messages":
            raise RefusalError(f"no {path}", 404)
        check_shape(body)
        check_breakpoints(body)
        dropped = self._check_thinking(body, headers.get("anthropic-beta") or "")
        turn = self.script[len(self.requests)]
        self.requests.append(body)
        self.usages.append(self._usage(body))
        self.dropped += len(dropped)
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": self._say(body, turn),
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": self.usages[-1],
            "input_transformations": [
                {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
                for path in dropped
            ],
        }

    def error(self, refused: RefusalError) -> Any:
        kind = "invalid_request_error" if refused.status == 400 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": refused.message}}

    def _say(self, body: Any, turn: Turn) -> list[Any]:
        """The turn's blocks; thinking is signed for the request and what stands before it."""
        said: list[Any] = []
        whole = [*body["messages"], {"role": "assistant", "content": said}]
        for text in turn.thinking:
            key = ("thinking", text) if text else ("redacted_thinking", str(len(self._issued)))
            signature = _hash([key, len(self._issued)])
            prefix = _prefix(body, whole, len(whole) - 1)
            self._issued[signature] = Issued(_hash(key), prefix, _last_thinking(whole))
            said.append(_thinking(key, signature))
        if turn.text:
            said.append({"type": "text", "text": turn.text})
        number = len(self.requests)
        said += [
            {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": c.name, "input": c.arguments}
            for i, c in enumerate(turn.calls)
        ]
        return said

    def _check_thinking(self, body: Any, betas: str) -> list[str]:
        """Paths of the blocks that are dropped; `RefusalError` where they may not be."""
        thinking, messages = body.get("thinking") or {}, body["messages"]
        may_drop = _may_drop(thinking, betas)
        _check_manual(thinking, messages)
        dropped: list[str] = []
        failed_in, last, before = -1, _last_turn(messages), ""
        for index, at, block in _blocks(messages):
            if block["type"] not in THINKING:
                continue
            path = f"messages.{index}.content.{at}"
            prefix = _prefix(body, messages, index, at)
            fits = self._fits(block, prefix, before, path, is_latest=index == last)
            before = _signature(block)
            if fits and failed_in != index:
                continue
            if not may_drop:
                raise RefusalError(
                    f"{path}: Invalid `signature` in `thinking` block. The block is bound to a "
                    f"different conversation. Remove the block, or {SETTING}. That setting "
                    f"requires the `{BETA}` value in the `anthropic-beta` header."
                )
            failed_in = index
            dropped.append(path)
        return dropped

    def _fits(self, block: Any, prefix: str, before: str, path: str, *, is_latest: bool) -> bool:
        issued = self._issued.get(_signature(block))
        key = (block["type"], block.get("thinking", block.get("data")))
        if block["type"] == "redacted_thinking":
            key = ("redacted_thinking", block["data"].split(":")[1])
        if issued is None or issued.own != _hash(key):
            if is_latest:
                raise RefusalError(
                    f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant "
                    "message cannot be modified. These blocks must remain as they were."
                )
            raise RefusalError(f"{path}: Invalid `signature` in `thinking` block")
        if not self.binds:
            return True
        return issued.prefix == prefix and before in ("", issued.after)

    def _usage(self, body: Any) -> Any:
        """What the cache gives and takes. One position a tool, a system block, a content block."""
        keys, sizes, marks = positions(body)
        read = 0
        for mark in reversed(marks):
            window = range(mark, max(-1, mark - LOOK_BACK), -1)
            hits = [p for p in window if keys[p] in self._cache and sizes[p] >= MINIMUM]
            if hits:
                read = sizes[hits[0]]
                break
        writes = [mark for mark in marks if sizes[mark] >= MINIMUM]
        self._cache.update(keys[mark] for mark in writes)
        written = max([read, *(sizes[mark] for mark in writes)]) - read
        return {
            "input_tokens": sizes[-1] - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 10,
        }


def check_shape(body: Any) -> None:
    """Pairing and texts."""
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        raise RefusalError('messages: first message must use the "user" role')
    for index, message in enumerate(messages):
        _check_texts(message["content"], f"messages.{index}.content")
        if not message["content"] and index + 1 < len(messages):
            raise RefusalError(f"messages.{index}: all messages must have non-empty content")
        before = messages[index - 1] if index else {"content": []}
        _check_results(before, message, index)
    open_calls = _ids(messages[-1], "tool_use", "id")
    if open_calls:
        raise _unanswered(len(messages) - 1, open_calls)


def _check_results(before: Any, message: Any, index: int) -> None:
    calls, results = _ids(before, "tool_use", "id"), _ids(message, "tool_result", "tool_use_id")
    missing = [call for call in calls if call not in results]
    if missing:
        raise _unanswered(index - 1, missing)
    for result in results:
        if result not in calls:
            raise RefusalError(
                f"messages.{index}.content: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {result}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )
    if len(set(results)) < len(results):
        raise RefusalError("each `tool_use` must have a single result")
    kinds = [block["type"] == "tool_result" for block in _content(message)]
    if True in kinds and kinds != sorted(kinds, reverse=True):
        raise RefusalError(f"messages.{index}: `tool_result` blocks must come first")


def _unanswered(index: int, ids: list[str]) -> RefusalError:
    return RefusalError(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` "
        "block in the next message."
    )


def _check_texts(content: Any, at: str) -> None:
    for index, block in enumerate(_as_blocks(content)):
        if block["type"] == "text":
            if not block["text"]:
                raise RefusalError(f"{at}.{index}: text content blocks must be non-empty")
            if not block["text"].strip():
                raise RefusalError(
                    f"{at}.{index}: text content blocks must contain non-whitespace text"
                )
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            _check_texts(block["content"], f"{at}.{index}.content")


def check_breakpoints(body: Any) -> None:
    """How many there are, where they may stand, and in what order their lifetimes."""
    marked = [block for block in _all_blocks(body) if block.get("cache_control")]
    marks = [block["cache_control"] for block in marked]
    automatic = body.get("cache_control")
    if automatic:
        last = _all_blocks(body)[-1].get("cache_control")
        if last and last.get("ttl", "5m") != automatic.get("ttl", "5m"):
            raise RefusalError("cache_control: the last block has another ttl")
        marks += [] if last else [automatic]
    if len(marks) > 4:
        raise RefusalError(
            f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
        )
    for block in marked:
        if block.get("type") in THINKING:
            raise RefusalError("cache_control: Extra inputs are not permitted")
        if block.get("type") == "text" and not block["text"].strip():
            raise RefusalError("cache_control cannot be set for empty text blocks")
    lifetimes = [mark.get("ttl", "5m") for mark in marks]
    if lifetimes != sorted(lifetimes):
        raise RefusalError("a ttl='1h' cache_control block must not come after a ttl='5m' one")


def _may_drop(thinking: Any, betas: str) -> bool:
    binding = thinking.get("block_binding")
    if binding is None:
        return False
    if thinking["type"] not in ("adaptive", "enabled") or BETA not in betas:
        raise RefusalError(
            f"thinking.{thinking['type']}.block_binding: Extra inputs are not permitted"
        )
    return bool(binding.get("prefix_mismatch_behavior") == "drop_block")


def _check_manual(thinking: Any, messages: Any) -> None:
    """Manual thinking: a turn in progress begins with its thinking."""
    in_turn = any(block["type"] == "tool_result" for block in _content(messages[-1]))
    if thinking.get("type") != "enabled" or not in_turn:
        return
    last = _last_turn(messages)
    first = _content(messages[last])[0]["type"]
    if first not in THINKING:
        raise RefusalError(
            f"messages.{last}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
            f"found `{first}`. When `thinking` is enabled, a final `assistant` message must start "
            "with a thinking block."
        )


def _thinking(key: tuple[str, str], signature: str) -> Any:
    if key[0] == "redacted_thinking":
        return {"type": "redacted_thinking", "data": f"{signature}:{key[1]}"}
    return {"type": "thinking", "thinking": key[1], "signature": signature}


def _signature(block: Any) -> str:
    found: str = block.get("signature") or block["data"].split(":")[0]
    return found


def _last_thinking(messages: Any) -> str:
    signed = [_signature(block) for _, _, block in _blocks(messages) if block["type"] in THINKING]
    return signed[-1] if signed else ""


def _last_turn(messages: Any) -> int:
    return max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)


def _prefix(body: Any, messages: Any, index: int, at: int | None = None) -> str:
    """What stands before a block: values, not their spelling; thinking and breakpoints aside."""
    tools = sorted(json.dumps(_plain(tool), sort_keys=True) for tool in body.get("tools") or ())
    before = [(m["role"], _content(m)) for m in messages[:index]]
    before.append(("assistant", _content(messages[index])[:at]))
    shown = [
        (role, [_plain(block) for block in content if block["type"] not in THINKING])
        for role, content in before
    ]
    return _hash([_plain(body.get("system")), tools, shown])


def positions(body: Any) -> tuple[list[str], list[int], list[int]]:
    """Keys and cumulative tokens of the positions, and the positions of breakpoints."""
    keys, sizes, marks = [], [], []
    total, chain = 0, hashlib.sha256()
    blocks = _all_blocks(body)
    for position, block in enumerate(blocks):
        text = json.dumps(_plain(block), sort_keys=True)
        chain.update(text.encode())
        total += (len(text) + 3) // 4
        keys.append(chain.hexdigest())
        sizes.append(total)
        if block.get("cache_control"):
            marks.append(position)
    if body.get("cache_control") and len(blocks) - 1 not in marks:
        marks.append(len(blocks) - 1)
    return keys, sizes, marks


def _all_blocks(body: Any) -> list[Any]:
    """Tools, system blocks, content blocks, in the order of the prompt."""
    messages = [block for message in body["messages"] for block in _content(message)]
    return [*(body.get("tools") or ()), *_as_blocks(body.get("system") or []), *messages]


def _blocks(messages: Any) -> Iterator[tuple[int, int, Any]]:
    for index, message in enumerate(messages):
        for at, block in enumerate(_content(message)):
            yield index, at, block


def _content(message: Any) -> list[Any]:
    return _as_blocks(message["content"])


def _as_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def _ids(message: Any, kind: str, key: str) -> list[str]:
    return [block[key] for block in _content(message) if block["type"] == kind]


def _plain(value: Any) -> Any:
    """Without breakpoints."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key != "cache_control"}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
