"""OpenHands' event stream (V0): actions and observations, and what of them the model is shown.

An action of the agent is a call: as the model made it (`tool_call_metadata`), where that is there,
else by its kind and arguments. Actions of one response are one turn. An observation answers the
action that it names (`cause`), or the one with its call's id, or the one just before it. A
condensation takes out events and puts a summary in their place; what is hidden, what only tells of
states, and what a delegate did are not shown. Words that OpenHands itself puts around these are in
no file and are not counted. Source: OpenHands' `conversation_memory`, `view`, `state_tracker`.
Specification: DESIGN section 3, docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from compactor.core.model import Call, Part, PartKind, Path, Usage
from compactor.formats import blocks
from compactor.formats.answers import usage_of
from compactor.formats.builder import Builder
from compactor.formats.harnesses.openhands_view import SPOKEN, Event, View
from compactor.formats.media import image_url_part
from compactor.formats.messages import field, text_field
from compactor.formats.raw.native import Edit, compact_json
from compactor.formats.recorded import count_of, items, time_ms

_ABOUT_THE_ACTION: Final = frozenset(
    (
        *("thought", "hidden", "blocking", "keep_prompt", "confirmation_state", "is_confirmed"),
        *("security_risk", "action_risk", "is_static", "action", "cause", "id", "timestamp"),
        *("source", "message", "timeout", "llm_metrics", "tool_call_metadata", "args"),
    )
)
"""Arguments of an action that say how it is run, and are none of the call."""

_RECALLED = ("repo_instructions", "additional_agent_instructions", "conversation_instructions")
_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
_ERRORS = ("error", "user_rejected")


class StoryV0:
    """Tells the events of a stream to a builder, as the next request would carry them.

    builder: what they are told to.
    system: texts of the system prompt; `tools` is None where they are not recorded.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.builder = Builder()
        self.usage: list[Usage] = []
        self.model = ""
        self.system: list[str] = []
        self.tools: list[Any] | None = None
        self.view = View(events)
        self._told: set[int] = set()
        self._meter = Meter()
        for index in self.view.shown:
            if index < 0:
                at, summary = self.view.summary
                self.builder.user([Part(PartKind.TEXT, summary)], at)
            elif index not in self._told:
                self._tell(index)

    def _tell(self, index: int) -> None:
        """Say one event, or the whole response that it is of."""
        event = self.view.events[index].native
        kind = text_field(event, "action")
        if not kind:
            self._observe(index)
        elif kind == "system":
            self._lead(event)
        elif kind in SPOKEN:
            self._speak(index, kind)
        elif _is_persons(event):
            parts = [Part(PartKind.TEXT, _wish(arguments_of(event)))]
            self.builder.user(parts, self.view.events[index].at)
        else:
            self._act(index)

    def _lead(self, event: Any) -> None:
        """The system prompt and the tools as they were set last."""
        args = arguments_of(event)
        self.system = [text_field(args, "content")]
        tools = field(args, "tools")
        if isinstance(tools, list):
            self.tools = tools

    def _speak(self, index: int, kind: str) -> None:
        at, event = self.view.events[index]
        args = arguments_of(event)
        if kind == "message":
            texts = [text_field(args, "content")]
        else:
            thought = text_field(args, "thought") or text_field(args, "final_thought")
            texts = [*dict.fromkeys((thought, _content(event)))]
        urls = items(field(args, "image_urls") or field(args, "images_urls"))
        parts = [Part(PartKind.TEXT, text) for text in texts]
        parts += [image_url_part(url) for url in urls if isinstance(url, str)]
        if self._is_of_person(event):
            self.builder.user(parts, at)
        else:
            self.builder.turn(parts, (), at)
            self._count(event, self.builder.size - 1)

    def _is_of_person(self, event: Any) -> bool:
        """Whether a person speaks; where nobody is named, they take turns."""
        source = text_field(event, "source")
        if source:
            return source == "user"
        entries = self.builder.entries
        is_turn = bool(entries) and not entries[-1].calls and not entries[-1].call
        return not entries or (is_turn and entries[-1].kind == "assistant")

    def _act(self, index: int) -> None:
        """A response with all its calls, and what they gave."""
        if not self.view.is_answered(index):
            return
        group = [i for i in self.view.group(index) if self.view.is_answered(i)]
        self._told.update(group)
        at, event = self.view.events[group[0]]
        said = _content(event) if _response(event) else text_field(arguments_of(event), "thought")
        calls = [_call(*self.view.events[i]) for i in group]
        self.builder.turn([Part(PartKind.TEXT, said)], calls, at)
        self._count(event, self.builder.size - 1)
        for i, call in zip(group, calls, strict=True):
            for answer in self.view.answers(i):
                self._told.add(answer)
                self._result(*self.view.events[answer], call)

    def _observe(self, index: int) -> None:
        """An observation that answers no action that is shown."""
        at, event = self.view.events[index]
        kind = text_field(event, "observation")
        if kind == "recall":
            parts = [Part(PartKind.TEXT, text) for text in _recalled(field(event, "extras"))]
            if parts:
                self.builder.user(parts, at)
        elif kind in (*_ERRORS, "condense"):
            self.builder.user([Part(PartKind.TEXT, text_field(event, "content"))], at)
        elif not self.view.is_orphan(index):
            self._result(at, event, Call("", kind, ""))

    def _result(self, at: Path, event: Any, call: Call) -> None:
        inner, body = body_of(event)
        images = [image_url_part(url) for url in _images(event)]
        is_odd = body is not None and not isinstance(body, str)
        if is_odd:
            images.append(blocks.unknown_part(self.builder, body, (*at, *inner)))
        is_error = text_field(event, "observation") == "error"
        self.builder.result(
            call.id,
            [body] if isinstance(body, str) and body else [],
            images,
            at,
            error=is_error or field(field(event, "extras"), "error") is True,
            required=is_odd,
            call=call,
        )

    def _count(self, event: Any, n: int) -> None:
        usage = self._meter.of(event, n)
        if usage is not None:
            self.usage.append(usage)
            self.model = usage.model or self.model


class Meter:
    """Recorded usage: of each response once; of what has none, how far the running total went."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._total = (0, 0, 0, 0)

    def of(self, event: Any, n: int) -> Usage | None:
        """Usage of the response that an event comes from; None when it has none, or had it."""
        response, when = _response(event), time_ms(field(event, "timestamp"))
        running = field(field(event, "llm_metrics"), "accumulated_token_usage")
        before, self._total = self._total, _total(running) or self._total
        counts, key = field(response, "usage"), text_field(response, "id")
        if key in self._seen:
            return None
        if key:
            self._seen.add(key)
        if isinstance(counts, dict) and counts:
            return usage_of(counts, n, text_field(response, "model"), when)
        fresh = [new - old for new, old in zip(self._total, before, strict=True)]
        if response is not None or min(fresh) < 0 or not any(fresh):
            return None
        prompt, output, read, write = fresh
        named = text_field(running, "model")
        uncached = max(prompt - read - write, 0)
        return Usage(n, uncached, read, write, output, named, time_ms=when)


def all_usage(events: Iterable[Event]) -> list[Usage]:
    """Usage of every response of a stream, shown or not, in order; `n` is 0."""
    meter = Meter()
    natives = (event.native for event in events)
    agents = (e for e in natives if text_field(e, "action") and not _is_persons(e))
    return [usage for event in agents if (usage := meter.of(event, 0)) is not None]


def rewrite_body(event: Any, at: Path, text: str) -> list[Edit]:
    """Edits that make `text` what an observation says, its pictures gone."""
    edits = [Edit((*at, *body_of(event)[0]), text)]
    if _images(event):
        edits.append(Edit((*at, "extras", "image_urls"), []))
    return edits


class _Body(NamedTuple):
    at: Path
    value: Any


def body_of(event: Any) -> _Body:
    """What an observation says: its content, or what a delegate handed back."""
    outputs = field(field(event, "extras"), "outputs")
    if text_field(event, "observation") == "delegate" and text_field(outputs, "content"):
        return _Body(("extras", "outputs", "content"), field(outputs, "content"))
    return _Body(("content",), field(event, "content"))


def arguments_of(event: Any) -> Any:
    """The arguments of an action; the oldest streams have them in the event itself."""
    args = field(event, "args")
    return args if isinstance(args, dict) else event


def _call(at: Path, event: Any) -> Call:
    """The call as the model made it, else what the action says of it."""
    about, response = field(event, "tool_call_metadata"), _response(event)
    call_id, name = text_field(about, "tool_call_id"), text_field(about, "function_name")
    found = (("tool_call_metadata", "model_response", "choices", 0, "message", "tool_calls"), None)
    for number, native in enumerate(items(field(_message(response), "tool_calls"))):
        if call_id and text_field(native, "id") == call_id:
            inner = (*at, *found[0], number, "function", "arguments")
            function = field(native, "function")
            written = blocks.arguments_text(field(function, "arguments"))
            return Call(call_id, name or text_field(function, "name"), written, inner)
    args = arguments_of(event)
    own = {k: v for k, v in args.items() if k not in _ABOUT_THE_ACTION and v is not None}
    here = (*at, "args") if args is not event else at
    return Call(call_id, name or text_field(event, "action"), compact_json(own), here)


def _response(event: Any) -> Any:
    return field(field(event, "tool_call_metadata"), "model_response")


def _message(response: Any) -> Any:
    choices = items(field(response, "choices"))
    return field(choices[0], "message") if choices else None


def _content(event: Any) -> str:
    return text_field(_message(_response(event)), "content")


def _is_persons(event: Any) -> bool:
    return text_field(event, "source") == "user"


def _wish(args: Any) -> str:
    """What a person ran: a command, or the arguments of whatever else it was."""
    return text_field(args, "command") or compact_json(args)


def _recalled(extras: Any) -> Iterator[str]:
    """What was known of the workspace, or by a word in the prompt."""
    yield from filter(None, (text_field(extras, key) for key in _RECALLED))
    known = items(field(extras, "microagent_knowledge"))
    yield from filter(None, (text_field(agent, "content") for agent in known))


def _images(event: Any) -> list[str]:
    urls = items(field(field(event, "extras"), "image_urls"))
    return [url for url in urls if isinstance(url, str) and url]


def _total(running: Any) -> tuple[int, int, int, int] | None:
    if not isinstance(running, dict):
        return None
    prompt, output, read, write = (count_of(running, key) for key in _COUNTS)
    return prompt, output, read, write
