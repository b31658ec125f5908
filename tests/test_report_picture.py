"""The picture of a replay. Collected only where matplotlib is installed."""

from __future__ import annotations

import struct
from pathlib import Path

import cli_kit as kit
from report_kit import HOSTILE, bench_of, hostile_talk

from compactor.replay.page.picture import picture


def test_a_picture_is_a_png_and_the_same_every_time() -> None:
    bench = bench_of(hostile_talk(30))
    found = [("a", bench.replay(policy)) for policy in ("none", "threshold", "mask:last=3")]
    made = picture(found)
    assert made[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", made[16:24]) == (1728, 1094)
    assert picture(found) == made
    assert picture(found + found) != made
    assert b"matplotlib" not in made.lower()


def test_a_recording_of_one_request_and_none_at_all_can_be_drawn() -> None:
    bench = bench_of(hostile_talk(0))
    assert picture([("a", bench.replay("none"))])[:4] == b"\x89PNG"
    assert picture([])[:4] == b"\x89PNG"


def test_names_are_no_formulas(tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_bytes(kit.as_bytes(kit.request(12, topic=HOSTILE.replace("\ud800", ""))))
    config = tmp_path / "_$x^$.toml"
    config.write_text("window = 4000\n")
    out = tmp_path / "out.png"
    done = kit.compactor("replay", request, "--policy", config, "--png", out, "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert out.read_bytes()[:4] == b"\x89PNG"
