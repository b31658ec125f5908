"""Recording through real clients: what they send over loopback is what is recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import anthropic
import botocore.session
import httpx2
import openai
import pytest
from botocore.config import Config
from google import genai
from google.genai import types as genai_types

from compactor import CompactorError
from compactor.stability import CacheStability
from tests.fakes.anthropic_api import Anthropic
from tests.fakes.gemini_api import Gemini
from tests.fakes.openai_api import OpenAI
from tests.fakes.script import Turn
from tests.fakes.server import RefusalError, serving

SCRIPT = [Turn((), f"Part {k}.") for k in range(3)]
ASKED = [{"role": "user", "content": "Begin."}]


class Bedrock:
    """Converse, as far as a client looks at the answer."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        del path, headers
        self.requests.append(body)
        said = {"role": "assistant", "content": [{"text": f"Part {len(self.requests)}."}]}
        return {
            "output": {"message": said},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        }

    def error(self, refused: RefusalError) -> Any:
        return {"message": refused.message}


def sent(stream: CacheStability) -> list[Any]:
    return [request.body.root for request in stream.requests]


def in_turn(ask: Any, messages: list[Any] | None = None) -> None:
    """Three requests of a conversation."""
    history = list(messages or ASKED)
    for _ in range(3):
        history = [*history, *ask(history)]


@pytest.mark.parametrize("way", ["transport", "wrap"])
def test_the_sdk_of_anthropic(way: str) -> None:
    stream, fake = CacheStability(), Anthropic(SCRIPT)
    with serving(fake) as url:
        http = httpx2.Client(transport=stream.transport()) if way == "transport" else None
        with anthropic.Anthropic(base_url=url, api_key="none", http_client=http) as client:
            client = client if http else stream.wrap(client)

            def ask(history: Any) -> Any:
                answer = client.messages.create(model="m", max_tokens=9, messages=history)
                return [
                    {"role": "assistant", "content": answer.content},
                    {"role": "user", "content": "More."},
                ]

            in_turn(ask)
    assert sent(stream) == fake.requests
    assert len(fake.requests) == 3
    stream.check()


def test_the_asynchronous_sdk_of_anthropic() -> None:
    for way in ("transport", "wrap"):
        stream, fake = CacheStability(), Anthropic(SCRIPT)
        asyncio.run(_ask_anthropic(stream, fake, way))
        assert sent(stream) == fake.requests
        assert len(fake.requests) == 3
        stream.check()


async def _ask_anthropic(stream: CacheStability, fake: Anthropic, way: str) -> None:
    transport = stream.transport() if way == "transport" else None
    with serving(fake) as url:
        http = httpx2.AsyncClient(transport=transport) if transport else None
        client = anthropic.AsyncAnthropic(base_url=url, api_key="none", http_client=http)
        client = client if http else stream.wrap(client)
        async with client:
            history: list[Any] = list(ASKED)
            for _ in range(3):
                answer = await client.messages.create(model="m", max_tokens=9, messages=history)
                history += [{"role": "assistant", "content": answer.content}, *ASKED]


@pytest.mark.parametrize("way", ["transport", "wrap"])
@pytest.mark.parametrize("endpoint", ["chat", "responses"])
def test_the_sdk_of_openai(endpoint: str, way: str) -> None:
    stream, fake = CacheStability(), OpenAI(SCRIPT)
    with serving(fake) as url:
        http = httpx2.Client(transport=stream.transport()) if way == "transport" else None
        with openai.OpenAI(base_url=url, api_key="none", http_client=http) as client:
            client = client if http else stream.wrap(client)

            def chat(history: Any) -> Any:
                answer = client.chat.completions.create(model="gpt-5.4", messages=history)
                return [answer.choices[0].message, {"role": "user", "content": "More."}]

            def respond(history: Any) -> Any:
                answer = client.responses.create(model="gpt-5.4", input=history, store=False)
                return [*answer.output, {"role": "user", "content": "More."}]

            in_turn(chat if endpoint == "chat" else respond)
    assert sent(stream) == fake.requests
    assert len(fake.requests) == 3
    stream.check()


@pytest.mark.parametrize("way", ["client", "wrap", "async"])
def test_the_sdk_of_google(way: str) -> None:
    stream, fake = CacheStability(), Gemini(SCRIPT)
    with serving(fake) as url:
        http = httpx2.Client(transport=stream.transport()) if way == "client" else None
        options = genai_types.HttpOptions(base_url=url, httpx_client=http)
        with genai.Client(api_key="none", http_options=options) as client:
            client = client if http else stream.wrap(client)
            history: list[Any] = [{"role": "user", "parts": [{"text": "Begin."}]}]
            if way == "async":
                asyncio.run(_ask_google(client, history))
            else:
                for _ in range(3):
                    answer = client.models.generate_content(model="g", contents=history)
                    history += [answer.candidates[0].content, history[0]]
    assert sent(stream) == fake.requests
    assert len(fake.requests) == 3
    stream.check()


async def _ask_google(client: Any, history: list[Any]) -> None:
    for _ in range(3):
        answer = await client.aio.models.generate_content(model="g", contents=history)
        history += [answer.candidates[0].content, history[0]]
    await client.aio.aclose()


def test_the_client_of_bedrock() -> None:
    stream, fake = CacheStability(), Bedrock()
    with serving(fake) as url:
        session = botocore.session.Session()
        session.set_credentials("none", "none")
        config = Config(region_name="eu-west-1", retries={"total_max_attempts": 1})
        client = session.create_client("bedrock-runtime", endpoint_url=url, config=config)
        client = stream.wrap(client)

        def ask(history: Any) -> Any:
            answer = client.converse(modelId="claude", messages=history)
            return [answer["output"]["message"], {"role": "user", "content": [{"text": "More."}]}]

        in_turn(ask, [{"role": "user", "content": [{"text": "Begin."}]}])
        client.close()
    assert sent(stream) == fake.requests
    assert len(fake.requests) == 3
    stream.check()


def test_every_attempt_is_recorded_and_a_repeated_one_breaks_nothing() -> None:
    stream, answers = CacheStability(), iter((500, 200))
    mock = httpx2.MockTransport(lambda _: httpx2.Response(next(answers), json={}))
    with httpx2.Client(transport=stream.transport(mock)) as http:
        for status in (500, 200):
            answer = http.post("http://p/v1/messages", json={"model": "m", "messages": ASKED})
            assert answer.status_code == status
    assert len(stream.requests) == 2
    stream.check()


@pytest.mark.parametrize(
    ("path", "body", "recorded"),
    [
        ("/v1/messages", {"messages": ASKED}, 1),
        ("/gateway/of/ours", {"messages": ASKED}, 1),
        ("/v1beta/models/g:streamGenerateContent?alt=sse", {"contents": []}, 1),
        ("/v1/messages/count_tokens", {"messages": ASKED}, 0),
        ("/v1/responses/input_tokens", {"input": "a"}, 0),
        ("/v1beta/models/g:countTokens", {"contents": []}, 0),
        ("/v1beta/models/g:batchEmbedContents", {"contents": []}, 0),
        ("/v1/embeddings", {"input": "a"}, 0),
        ("/v1/embeddings?x=1", {"input": "a"}, 0),
        ("/v1/messages/batches", {"messages": ASKED}, 0),
        ("/v1/files", {"name": "a"}, 0),
    ],
)
def test_requests_that_fill_no_cache_are_left_out(path: str, body: Any, recorded: int) -> None:
    stream = CacheStability()
    mock = httpx2.MockTransport(lambda _: httpx2.Response(200, json={}))
    with httpx2.Client(transport=stream.transport(mock)) as http:
        http.post(f"http://p{path}", json=body)
        http.post(f"http://p{path}", data={"form": "data"})
        http.get(f"http://p{path}")
    assert len(stream.requests) == recorded


def test_an_http_client_can_be_wrapped_and_a_header_of_the_prompt_is_seen() -> None:
    stream = CacheStability()
    mock = httpx2.MockTransport(lambda _: httpx2.Response(200, json={}))
    with httpx2.Client(transport=mock) as http:
        assert stream.wrap(http) is http
        for beta in "ab":
            http.post(
                "http://p/v1/messages",
                headers={"anthropic-beta": beta},
                json={"messages": ASKED, "system": "s"},
            )
    assert [one.change.detail for one in stream.breaks] == ["headers.anthropic-beta"]


class Fake:
    """Stands for a provider's client in somebody's tests."""

    def __init__(self) -> None:
        self.messages = self
        self.name = "fake"
        self.got: list[Any] = []

    def create(self, model: str, messages: Sequence[Any], **more: Any) -> str:
        self.got.append({"model": model, "messages": list(messages), **more})
        return f"answer {len(self.got)}"


class AsyncFake:
    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)

    async def create(self, **arguments: Any) -> str:
        return str(len(arguments["messages"]))


def test_a_fake_client_is_recorded_by_what_it_is_called_with() -> None:
    stream, fake = CacheStability(), Fake()
    client = stream.wrap(fake, conversation="a")
    history = list(ASKED)
    assert client.messages.create("m", history, system="s") == "answer 1"
    history.append({"role": "assistant", "content": "so"})
    assert client.messages.create(model="m", messages=history, extra_headers={"x": "y"})
    assert client.name == "fake"
    assert sent(stream) == [
        {"model": "m", "messages": ASKED, "system": "s"},
        {"model": "m", "messages": history},
    ]
    assert stream.conversations == ("a",)


def test_a_mock_is_recorded_as_well() -> None:
    stream, mock = CacheStability(), MagicMock()
    client = stream.wrap(mock)
    assert client.chat.completions.create(model="m", messages=ASKED) is not None
    assert sent(stream) == [{"model": "m", "messages": ASKED}]
    assert mock.chat.completions.create.call_count == 1


def test_an_asynchronous_fake_client_is_recorded_as_well() -> None:
    stream = CacheStability()
    client = stream.wrap(AsyncFake())
    made = client.chat.completions.create(model="m", messages=ASKED)
    assert asyncio.run(made) == "1"
    assert sent(stream) == [{"model": "m", "messages": ASKED}]


def test_what_sends_nothing_cannot_be_wrapped() -> None:
    with pytest.raises(CompactorError, match="nothing that sends requests"):
        CacheStability().wrap(json)


def mocked(transport: Any = None) -> httpx2.Client:
    """A client that sends nowhere."""
    return httpx2.Client(
        transport=transport or httpx2.MockTransport(lambda _: httpx2.Response(200, json={}))
    )


def send(http: httpx2.Client, path: str = "v1/messages", **more: Any) -> None:
    http.post(f"http://p/{path}", json={"model": "m", "messages": ASKED} | more)


def test_a_client_that_is_wrapped_twice_is_recorded_once() -> None:
    stream = CacheStability()
    with mocked() as http:
        stream.wrap(stream.wrap(http))
        stream.wrap(SimpleNamespace(_client=http))
        send(http)
    assert len(stream.requests) == 1


def test_a_client_cannot_record_for_two_conversations() -> None:
    stream = CacheStability()
    with mocked() as http:
        stream.wrap(http, conversation="a")
        with pytest.raises(CompactorError, match="for conversation 'a' already"):
            stream.wrap(http, conversation="b")


def test_a_closed_stream_leaves_its_clients_as_they_were() -> None:
    first, second = CacheStability(), CacheStability()
    with mocked() as http:
        for stream in (first, second):
            stream.wrap(http)
            send(http)
            stream.close()
        send(http)
        assert "send" not in vars(http)
    assert (len(first.requests), len(second.requests)) == (1, 1)


def test_a_stream_that_is_closed_under_another_records_no_more() -> None:
    first, second = CacheStability(), CacheStability()
    with mocked() as http:
        first.wrap(http)
        second.wrap(http)
        first.close()
        send(http)
        second.close()
        send(http)
    assert (len(first.requests), len(second.requests)) == (0, 1)


def test_the_http_client_inside_a_framework_s_model_is_found() -> None:
    """As LangChain keeps it: of Anthropic, of OpenAI, and with tools bound to it."""
    stream = CacheStability()
    with mocked() as first, mocked() as second, mocked() as third:
        models = (
            SimpleNamespace(_client=SimpleNamespace(_client=first)),
            SimpleNamespace(root_client=SimpleNamespace(_client=second)),
            SimpleNamespace(bound=SimpleNamespace(root_client=SimpleNamespace(_client=third))),
        )
        for model, http in zip(models, (first, second, third), strict=True):
            assert stream.wrap(model) is model
            send(http)
    assert len(stream.requests) == 3


def test_a_model_that_the_url_names_is_part_of_the_prefix() -> None:
    stream = CacheStability()
    contents = [{"role": "user", "parts": [{"text": "Begin."}]}]
    answer = [{"role": "model", "parts": [{"text": "So."}]}, contents[0]]
    with mocked(stream.transport(httpx2.MockTransport(lambda _: httpx2.Response(200)))) as http:
        for model, said in (("gemini-4", contents), ("gemini-5", [*contents, *answer])):
            path = f"v1beta/models/{model}:generateContent?key=s3cret"
            http.post(f"http://p/{path}", json={"contents": said})
    assert [(one.change.look, one.change.new) for one in stream.breaks] == [("model", "gemini-5")]


def test_streams_answers_and_agents_through_one_asynchronous_client() -> None:
    stream = CacheStability()
    asyncio.run(_ask_side_by_side(stream))
    assert (stream.breaks, len(stream.requests)) == ((), 9)
    assert stream.conversations == ("1", "2", "3")


async def _ask_side_by_side(stream: CacheStability) -> None:
    """Three agents with one task, who say the same and call by ids of their own."""
    mock = httpx2.MockTransport(lambda _: httpx2.Response(200, text="data: {}\n\n"))

    async def ask(name: str) -> None:
        history = list(ASKED)
        for step in range(3):
            body = {"model": "m", "messages": history, "stream": True}
            async with http.stream("POST", "http://p/v1/messages", json=body) as answer:
                await answer.aread()
            call = {"type": "tool_use", "id": f"{name}{step}", "name": "ls", "input": {}}
            result = {"type": "tool_result", "tool_use_id": f"{name}{step}", "content": "a.c"}
            history += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]

    async with httpx2.AsyncClient(transport=mock) as http:
        stream.wrap(http)
        await asyncio.gather(*map(ask, "abc"))
