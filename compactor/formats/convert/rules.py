"""What each target takes: one row a format, every rule of `fit` a column.

Sources: reference providers.md C1-C5; botocore's model of Converse; the SDKs' types; for OpenAI's
lengths of ids and names and Anthropic's of names the APIs' own refusals ("string too long. Expected
a string with maximum length 40", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from compactor.core.model import Kind

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PDF = ("application/pdf",)
_OFFICE = (
    *("text/csv", "text/html", "text/plain", "text/markdown", "application/msword"),
    *("application/vnd.ms-excel",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
)
_SOUNDS = ("audio/wav", "audio/mpeg")
_WORDS = re.compile(r"[^a-zA-Z0-9_-]")
_DOTTED = re.compile(r"[^a-zA-Z0-9_.:-]")
_NOT_FIRST = re.compile(r"[0-9.:-]")
_WEB = ("http://", "https://")
ANY = ("",)
"""Types or addresses of any kind: each begins with this."""


class Spelling(NamedTuple):
    """How ids or names are spelled.

    wrong: what may not be in them; None where everything may.
    length: at most so many characters; 0 for no limit.
    first: what may not begin them, though it may be in them.
    """

    wrong: re.Pattern[str] | None = None
    length: int = 0
    first: re.Pattern[str] | None = None


class Rules(NamedTuple):
    """What a format takes.

    ids, names: of calls and tools.
    pairs: results stand right behind their calls, each call has one, ids do not repeat.
    objects: arguments are a JSON object.
    custom: there are calls whose arguments are a text of the tool's own.
    errors: a result can say that it failed.
    system: a system message may stand in mid-conversation, whatever the model.
    reasoning: families whose reasoning is taken back; ANY takes every text.
    images, documents: types of content that is in the request.
    addresses: how addresses of media begin; documents have them where `linked`,
        and where `typed` only what has a known type has one.
    counted: images are a number, so that nobody needs to know what is in them.
    media: entries that may hold media.
    hollow: messages may say nothing.
    blank: texts may be nothing but white space, in messages; and in results.
    begins: the person speaks first.
    alternates: no two messages in a row have one role.
    models: how its models' names begin.
    signs: calls need a signature.
    overhead: system prompt and tools have a place.
    worded: a document needs a text beside it.
    """

    ids: Spelling = Spelling()
    names: Spelling = Spelling()
    pairs: bool = True
    objects: bool = True
    custom: bool = False
    errors: bool = True
    system: bool = False
    reasoning: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    linked: bool = False
    typed: bool = False
    counted: bool = False
    media: tuple[Kind, ...] = (Kind.USER, Kind.TOOL)
    hollow: bool = False
    blank: tuple[bool, bool] = (True, True)
    begins: bool = False
    alternates: bool = False
    models: tuple[str, ...] = ()
    signs: bool = False
    overhead: bool = True
    worded: bool = False


RULES: Mapping[str, Rules] = MappingProxyType(
    {
        "anthropic": Rules(
            ids=Spelling(_WORDS),
            names=Spelling(_WORDS, 128),
            reasoning=("anthropic",),
            images=_IMAGES,
            documents=_PDF,
            addresses=_WEB,
            linked=True,
            blank=(False, True),
            begins=True,
            models=("claude",),
        ),
        "openai-chat": Rules(
            ids=Spelling(None, 40),
            names=Spelling(_WORDS, 64),
            custom=True,
            errors=False,
            system=True,
            reasoning=("chat",),
            images=_IMAGES,
            documents=(*_PDF, *_SOUNDS),
            addresses=_WEB,
            media=(Kind.USER,),
            models=("gpt", "chatgpt", "o1", "o3", "o4"),
        ),
        "openai-responses": Rules(
            ids=Spelling(None, 64),
            names=Spelling(_WORDS, 64),
            custom=True,
            errors=False,
            system=True,
            reasoning=("openai",),
            images=_IMAGES,
            documents=_PDF,
            addresses=_WEB,
            linked=True,
            models=("gpt", "chatgpt", "o1", "o3", "o4", "codex"),
        ),
        "gemini": Rules(
            names=Spelling(_DOTTED, 64, _NOT_FIRST),
            reasoning=("gemini",),
            images=ANY,
            documents=ANY,
            addresses=ANY,
            linked=True,
            typed=True,
            media=(Kind.USER, Kind.TOOL, Kind.ASSISTANT),
            begins=True,
            models=("gemini", "models/gemini"),
            signs=True,
        ),
        "bedrock": Rules(
            ids=Spelling(_WORDS, 64),
            names=Spelling(_WORDS, 64),
            reasoning=("anthropic", "bedrock"),
            images=_IMAGES,
            documents=(*_PDF, *_OFFICE),
            addresses=("s3://",),
            linked=True,
            blank=(False, False),
            begins=True,
            alternates=True,
            worded=True,
        ),
        "entries": Rules(
            pairs=False,
            objects=False,
            system=True,
            images=ANY,
            addresses=ANY,
            counted=True,
            media=(Kind.TOOL,),
            hollow=True,
            overhead=False,
        ),
        "otel": Rules(
            pairs=False,
            objects=False,
            errors=False,
            system=True,
            reasoning=ANY,
            images=ANY,
            documents=ANY,
            addresses=ANY,
            linked=True,
            media=(Kind.USER, Kind.TOOL, Kind.ASSISTANT, Kind.SYSTEM),
            hollow=True,
            models=ANY,
        ),
    }
)
"""Target → what it takes."""
