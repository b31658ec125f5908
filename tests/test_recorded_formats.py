"""No recording is claimed by the lens of another harness."""

from __future__ import annotations

from pathlib import Path

import pytest
import recorded_kit as kit

from compactor.formats.frameworks.langchain import LangChain
from compactor.formats.frameworks.vercel_ai import VercelAI
from compactor.formats.harnesses.cline import Cline
from compactor.formats.harnesses.copilot_cli import CopilotCli
from compactor.formats.harnesses.gemini_cli import GeminiCli
from compactor.formats.harnesses.kimi_cli import KimiCli
from compactor.formats.harnesses.qwen_code import QwenCode
from compactor.formats.raw.native import read_document
from compactor.formats.traces.langfuse import Langfuse
from compactor.formats.traces.langsmith import LangSmith
from compactor.formats.traces.otel import Otel

LENSES = (
    *(GeminiCli(), Cline(), CopilotCli(), KimiCli(), QwenCode()),
    *(LangChain(), Langfuse(), LangSmith(), Otel(), VercelAI()),
)
FOLDERS = {"langfuse": "otel-langfuse"}
"""Format → the folder of its recordings, where that has another name."""
FILES = sorted(kit.RECORDED.glob("*/*.json*"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recording_is_claimed_by_the_lens_of_its_own_harness_alone(path: Path) -> None:
    root = read_document(path.read_bytes(), path.name).root
    claimed = [lens.name for lens in LENSES if lens.recognises(root)]
    owners = [each.name for each in LENSES if FOLDERS.get(each.name, each.name) == path.parent.name]
    assert claimed == owners
