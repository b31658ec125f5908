"""Formats: one lens each, in a table, and which of them an input is in.

`FORMATS` is the documentation: its keys are the words after `-f`, its order is that of `detect`,
the most particular shape first. A new format is one file and one row. The files beside this one
are what lenses are built of; the lenses are in folders by who writes such data: `providers`,
`harnesses`, `traces`, `frameworks`, `datasets`. `raw` is the native data under them.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from compactor.core.errors import InputError
from compactor.formats.datasets.adp_standard import AdpStandard
from compactor.formats.datasets.atif import Atif
from compactor.formats.datasets.inspect_ai import InspectAi
from compactor.formats.datasets.openai_fine_tuning import OpenAIFineTuning
from compactor.formats.datasets.sharegpt import ShareGpt
from compactor.formats.datasets.tau2_bench import Tau2Bench
from compactor.formats.datasets.tau_bench import TauBench
from compactor.formats.entries import Entries
from compactor.formats.frameworks.langchain import LangChain
from compactor.formats.frameworks.vercel_ai import VercelAI
from compactor.formats.harnesses.amp import Amp
from compactor.formats.harnesses.claude_code import ClaudeCode
from compactor.formats.harnesses.cline import Cline
from compactor.formats.harnesses.codex import Codex
from compactor.formats.harnesses.copilot_chatreplay import CopilotChatReplay
from compactor.formats.harnesses.copilot_cli import CopilotCli
from compactor.formats.harnesses.cursor import Cursor
from compactor.formats.harnesses.factory_droid import FactoryDroid
from compactor.formats.harnesses.gemini_cli import GeminiCli
from compactor.formats.harnesses.gemini_stream import GeminiStream
from compactor.formats.harnesses.goose import Goose
from compactor.formats.harnesses.kimi_cli import KimiCli
from compactor.formats.harnesses.kimi_legacy import KimiLegacy
from compactor.formats.harnesses.kiro import Kiro
from compactor.formats.harnesses.mini_swe_agent import MiniSweAgent
from compactor.formats.harnesses.openclaw import OpenClaw
from compactor.formats.harnesses.opencode import OpenCode
from compactor.formats.harnesses.openhands_events import OpenHandsEvents
from compactor.formats.harnesses.openhands_llm_log import OpenHandsLlmLog
from compactor.formats.harnesses.openhands_messages import OpenHandsMessages
from compactor.formats.harnesses.pi import Pi
from compactor.formats.harnesses.qwen_code import QwenCode
from compactor.formats.harnesses.swe_agent import SweAgent
from compactor.formats.harnesses.swe_agent_nebius import SweAgentNebius
from compactor.formats.lens import Lens
from compactor.formats.messages import refuse_server_history
from compactor.formats.providers.anthropic import Anthropic
from compactor.formats.providers.bedrock import Bedrock
from compactor.formats.providers.gemini import Gemini
from compactor.formats.providers.openai_chat import OpenAIChat
from compactor.formats.providers.openai_responses import OpenAIResponses
from compactor.formats.raw.members import Members
from compactor.formats.traces.http_bodies import Http
from compactor.formats.traces.langfuse import Langfuse
from compactor.formats.traces.langsmith import LangSmith
from compactor.formats.traces.otel import Otel

__all__ = ["FORMATS", "detect", "lens", "unknown"]

_LENSES: tuple[Lens, ...] = (
    *(QwenCode(), ClaudeCode(), Codex(), OpenCode(), Pi(), OpenClaw()),
    *(GeminiCli(), GeminiStream(), Amp(), Goose(), Cline(), CopilotCli(), KimiCli(), KimiLegacy()),
    *(Entries(),),
    *(Http(), OpenHandsLlmLog(), CopilotChatReplay(), Atif()),
    *(OpenHandsEvents(), OpenHandsMessages(), AdpStandard(), InspectAi()),
    *(SweAgent(), SweAgentNebius(), MiniSweAgent(), TauBench(), Tau2Bench()),
    *(FactoryDroid(), Kiro(), Cursor(), ShareGpt(), OpenAIFineTuning()),
    *(Langfuse(), LangSmith(), Otel(), LangChain(), VercelAI()),
    *(Gemini(), OpenAIResponses(), Bedrock()),
    *(OpenAIChat(), Anthropic()),
)

FORMATS: Mapping[str, Lens] = MappingProxyType({each.name: each for each in _LENSES})
"""Format name → lens."""


def detect(root: Any) -> Lens:
    """The lens of parsed native data, by its shape. O(messages).

    Raises:
        InputError: `input.format_unknown`; `input.provider_history` when a request names a history
            that the provider keeps.
    """
    for each in _LENSES:
        if each.recognises(root):
            return each
    if isinstance(root, dict):
        refuse_server_history(root)
    if isinstance(root, Members):
        raise InputError(
            "this archive is no log of inspect_ai, the one format that is read packed so",
            code="input.format_unknown",
            path="$",
            hint="unpack it, and give the files that are in it",
        )
    raise InputError(
        "this is no transcript in a known format",
        code="input.format_unknown",
        path="$",
        hint=f"say which with -f: {', '.join(FORMATS)}",
    )


def lens(name: str) -> Lens:
    """The lens of a format name.

    Raises:
        InputError: `input.format_unknown`, with the nearest name.
    """
    found = FORMATS.get(name)
    if found is not None:
        return found
    raise unknown(name, FORMATS)


def unknown(name: str, known: Collection[str]) -> InputError:
    """The error for a name that is none of the known formats, with the nearest of them."""
    begun = [each for each in known if name and each.startswith(name)]
    near = difflib.get_close_matches(name, begun or known, 1, 0.4)
    meant = f"did you mean {near[0]}? " if near else ""
    return InputError(
        f"there is no format {name[:40]!r}",
        code="input.format_unknown",
        hint=f"{meant}known: {', '.join(known)}",
    )
