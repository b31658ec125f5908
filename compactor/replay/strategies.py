"""What people use instead of us, re-stated over entries: each a pure function of a recording.

A strategy says, request by request, what stands for which entry from then on. Its docstring names
what it re-states and where that was read; sizes are counted as the original counts them. Where the
original keeps its decision (an edited history) so does the re-statement, and where it decides anew
from the whole history at each request, it comes to what that decides. Specification:
docs/replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from compactor.core.model import Kind
from compactor.replay.foreign import characters, langchain_tokens, lean_stub, swe_mask
from compactor.replay.frameworks import (
    inspect_edit,
    inspect_trim,
    maf_sliding,
    maf_tool_results,
)
from compactor.replay.harnesses import gemini_cli_mask, opencode_prune
from compactor.replay.prompt import DROPPED
from compactor.replay.recording import Recording
from compactor.replay.results import Messages, Results, Step, begins_turn, shown, step
from compactor.replay.spelling import Spelled, number, refuse_others

Strategy = Callable[[Recording, Spelled], Iterator[Step]]


def none(recording: Recording, given: Spelled) -> Iterator[Step]:
    """Nothing is ever changed."""
    refuse_others(given, ())
    for _ in recording.requests:
        yield Step()


def mask(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`mask:last=10,polling=1`: SWE-agent's `LastNObservations(n, polling)`, git 3ea751c.

    The task counts as the first observation and stays.
    """
    refuse_others(given, ("last", "polling"))
    last, polling = number(given, "last", 10), max(1, number(given, "polling", 1))
    results = Results(recording)
    for asked in recording.requests:
        observations = 1 + results.upto(asked.n)
        end = observations // polling * polling - last
        yield step(results.become(end - 1, swe_mask))


def clear_tool_uses(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`clear-tool-uses:trigger=100000,keep=3,clear_at_least=0`: Anthropic's server-side edit.

    `clear_tool_uses_20250919`, providers.md B1: above the trigger all results but the newest `keep`
    are cleared, if that clears at least so much. The documentation says that later requests can
    reuse the newly cached prefix, so what is cleared stays cleared here, and it acts again when the
    edited prompt is above the trigger. The placeholder is not documented; this is a usual one.
    """
    refuse_others(given, ("trigger", "keep", "clear_at_least"))
    trigger, keep = number(given, "trigger", 100_000), number(given, "keep", 3)
    least, results = number(given, "clear_at_least", 0), Results(recording)
    saved, text = 0, "[cleared to save context]"
    each = shown(recording, text).tokens
    for asked in recording.requests:
        count = results.upto(asked.n) - keep
        going = results.left(count) if recording.upto[asked.n] - saved > trigger else ()
        cleared = sum(recording.tokens[seq] - each for seq in going)
        if cleared < max(least, 1):
            yield Step()
            continue
        saved += cleared
        yield step(results.go(going, text))


def langchain_clear_tool_uses(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`langchain-clear-tool-uses:trigger=100000,keep=3,clear_at_least=0`: LangChain 1.5.2.

    `ClearToolUsesEdit` works on a copy of the whole history at each request and keeps nothing, so
    once above the trigger its edge moves with each result; `clear_at_least` stops it once so much
    is cleared. Sizes are `count_tokens_approximately` of langchain-core 1.8.3, without system
    prompt and tools.
    """
    refuse_others(given, ("trigger", "keep", "clear_at_least"))
    trigger, keep = number(given, "trigger", 100_000), number(given, "keep", 3)
    least, results = number(given, "clear_at_least", 0), Results(recording)
    entries, text, size, n, cleared = recording.entries, "[cleared]", 0, 0, 0
    for asked in recording.requests:
        size += sum(langchain_tokens(entry, entry.body) for entry in entries[n : asked.n])
        n, going = asked.n, []
        count = results.upto(n) - keep
        for seq in results.left(count) if size > trigger else ():
            if least and cleared >= least:
                break
            if entries[seq].call is not None:
                before = langchain_tokens(entries[seq], entries[seq].body)
                cleared += before - langchain_tokens(entries[seq], text)
                going.append(seq)
        yield step(results.go(going, text))


def staircase(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`staircase:keep=8,stride=16`: lean-ctx's cache-aware `prune_boundary`, 245ac72a.

    Results below an edge that moves by whole strides of messages, all but the newest `keep`. Texts
    over 200 bytes only: a read of a file becomes a stub, others keep their first three and last two
    lines. Messages are Anthropic's, so parallel results are one.
    """
    refuse_others(given, ("keep", "stride"))
    keep, stride = number(given, "keep", 8), max(1, number(given, "stride", 16))
    messages, results = Messages(recording), Results(recording)
    for asked in recording.requests:
        edge = max(0, messages.upto(asked.n) - keep) // stride * stride
        results.upto(asked.n)
        yield step(results.become(results.below(messages.start(edge, asked.n)), lean_stub))


def pydantic_harness(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`pydantic-harness:max_tokens=100000,keep_pairs=3`: ClearToolResults.

    pydantic-ai-harness 0.62. Edits the history for good. The size is what the provider reported for
    the request before and its answer, and characters / 4 of what came since. `max_messages=N`
    counts messages since the last cleared result, instead or as well; `min_clear_tokens=N` leaves
    what would clear less.
    """
    refuse_others(given, ("max_tokens", "max_messages", "keep_pairs", "min_clear_tokens"))
    text, is_bound = "[tool result cleared]", "min_clear_tokens" in given.settings
    least = number(given, "min_clear_tokens", 0)
    most, keep = number(given, "max_messages", 0), number(given, "keep_pairs", 3)
    limit = number(given, "max_tokens", 0 if most else 100_000)
    results, messages = Results(recording, paired=True), Messages(recording)
    chars = list(accumulate(map(characters, recording.entries), initial=0))
    saved, each, last_n, gone = 0, shown(recording, text).tokens, 0, 0
    for asked in recording.requests:
        size = recording.upto[last_n] - saved if last_n else 0
        answered = last_n + (0 < last_n < asked.n and _is_turn(recording, last_n))
        size += recording.upto[answered] - recording.upto[last_n]
        size += (chars[asked.n] - chars[answered]) // 4
        count, going = results.upto(asked.n) - keep, results.left(0)
        exceeds = most and messages.since(asked.n, results.newest_gone) > most
        if exceeds or (limit and size > limit):
            going = results.left(count)
        fewer = sum(len(recording.entries[seq].body) - len(text) for seq in going)
        whole = chars[asked.n] - gone
        if is_bound and going and whole // 4 - (whole - fewer) // 4 < least:
            going = results.left(0)
        else:
            gone += fewer
        saved += sum(recording.tokens[seq] - each for seq in going)
        last_n = asked.n
        yield step(results.go(going, text))


def _is_turn(recording: Recording, seq: int) -> bool:
    return recording.entries[seq].kind is Kind.ASSISTANT


def sliding(recording: Recording, given: Spelled) -> Iterator[Step]:
    """`sliding:messages=40`: Strands 1.62 `SlidingWindowConversationManager(per_turn=True)`.

    Before each request and at the end of each turn: the newest messages only, beginning with a
    message of the user or else with a call whose result follows; what is dropped never comes back.
    Parallel results are one message.
    """
    refuse_others(given, ("messages",))
    window, messages, first, n = max(1, number(given, "messages", 40)), Messages(recording), 0, 0
    for asked in recording.requests:
        ends = [seq for seq in range(max(n, 1), asked.n) if begins_turn(recording, seq)]
        begin, n = first, asked.n
        for count in (messages.upto(seq) for seq in (*ends, asked.n)):
            if count - begin > window:
                begin = _trim_point(messages, count - window, count, begin)
        dropped = range(messages.start(first, asked.n), messages.start(begin, asked.n))
        first = begin
        yield step(dict.fromkeys(dropped, DROPPED))


def _trim_point(messages: Messages, target: int, count: int, first: int) -> int:
    """The message at or after the target that a request may begin with; first where none may."""
    pair = first
    for index in range(count - 1, target - 1, -1):
        kind = messages.kind(index)
        if kind is Kind.ASSISTANT and index + 1 < count:
            pair = index if messages.kind(index + 1) is Kind.TOOL else pair
    users = (index for index in range(target, count) if messages.kind(index) is Kind.USER)
    return next(users, pair)


STRATEGIES: Final[dict[str, Strategy]] = {
    "none": none,
    "mask": mask,
    "clear-tool-uses": clear_tool_uses,
    "langchain-clear-tool-uses": langchain_clear_tool_uses,
    "opencode-prune": opencode_prune,
    "gemini-cli-mask": gemini_cli_mask,
    "staircase": staircase,
    "pydantic-harness": pydantic_harness,
    "sliding": sliding,
    "inspect-edit": inspect_edit,
    "inspect-trim": inspect_trim,
    "maf-tool-results": maf_tool_results,
    "maf-sliding": maf_sliding,
}
"""Word in `--policy` → what it does. Our own policies are in `own`."""
