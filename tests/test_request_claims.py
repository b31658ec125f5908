"""No recording is claimed by a lens of requests, events or trajectories that is not its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import recorded_kit as kit

from compactor.formats.datasets.adp_standard import AdpStandard
from compactor.formats.datasets.atif import Atif
from compactor.formats.harnesses.copilot_chatreplay import CopilotChatReplay
from compactor.formats.harnesses.openhands_events import OpenHandsEvents
from compactor.formats.harnesses.openhands_llm_log import OpenHandsLlmLog
from compactor.formats.raw.native import read_document
from compactor.formats.traces.http_bodies import Http

LENSES = (Http(), OpenHandsLlmLog(), OpenHandsEvents(), CopilotChatReplay(), Atif(), AdpStandard())
FILES = [
    path for path in sorted(kit.RECORDED.glob("*/*")) if path.suffix in (".json", ".jsonl", ".traj")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recording_is_claimed_by_its_own_lens_alone(path: Path) -> None:
    folder = "http" if path.parent.name.endswith("-http") else path.parent.name
    root = read_document(path.read_bytes(), path.name).root
    claimed = [lens.name for lens in LENSES if lens.recognises(root)]
    assert claimed == [lens.name for lens in LENSES if lens.name == folder]
