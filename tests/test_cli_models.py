"""`compactor models`, `--models FILE` and `--place-breakpoints`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactor import models
from compactor.cli.models import dollars
from tests.cli_kit import SMALL, as_bytes, compactor, request


def shown(*args: Any) -> str:
    ran = compactor("models", *args)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.decode()


def own_table(tmp_path: Path, **fields: Any) -> str:
    path = tmp_path / "models.json"
    row = {"name": "my-model", "context_in": 50_000} | fields
    path.write_text(json.dumps({"models": [row]}))
    return str(path)


def test_every_model_has_a_line() -> None:
    head, *lines = shown().splitlines()
    assert head.split("  ")[0] == "name"
    assert [line.split()[0] for line in lines] == list(models.names())
    sonnet = next(line for line in lines if line.startswith("claude-sonnet-4-5 "))
    facts = ["claude-sonnet-4-5", "anthropic", "200,000", "o200k_base", "*", "1.24", "1,024", "-"]
    assert sonnet.split() == [*facts, "3", "0.3", "3.75", "15"]
    assert all("new accounts" in line for line in lines if line.startswith("claude-opus-5-5 "))


def test_as_json_all_fields_are_there() -> None:
    rows = json.loads(shown("--json"))
    assert [row["name"] for row in rows] == list(models.names())
    (haiku,) = [row for row in rows if row["name"] == "claude-haiku-5-5"]
    assert (haiku["window"], haiku["context_in"], haiku["binds_thinking"]) == (
        100_000,
        1_000_000,
        True,
    )
    assert haiku["prices"][1]["above"] == 100_000


def test_a_name_as_a_gateway_spells_it_shows_one_with_its_policy() -> None:
    name = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    one = json.loads(shown(name, "--json"))
    assert one["name"] == "claude-sonnet-4-5"
    assert one["policy"] == {
        "reserve": 40_000,
        "threshold": 160_000,
        "limit": 180_000,
        "recentTokens": 40_000,
        "minFreed": 4_000,
        "evidenceBudgetTokens": 20_000,
        "reasoning": "keep",
    }
    lines = shown(name).splitlines()
    assert lines[0] == "name:             claude-sonnet-4-5"
    assert "  threshold: 160,000" in lines
    prices = "  input 3, output 15, cache_read 0.3, cache_write 3.75, cache_write_long 6"
    assert prices in lines
    assert "  above 100,000 tokens: input 0.5, output 2.5" in shown("claude-haiku-5-5")


def test_an_unknown_name_is_refused_with_near_ones() -> None:
    ran = compactor("models", "claude-sonnet-9")
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert b"[policy.model_unknown]" in ran.stderr
    assert b"claude-sonnet-" in ran.stderr


@pytest.mark.parametrize(
    ("micro", "expected"),
    [(0, "0"), (1, "0.000001"), (250_000, "0.25"), (10_000_000, "10"), (12_500_000, "12.5")],
)
def test_prices_are_exact(micro: int, expected: str) -> None:
    assert dollars(micro) == expected


def test_a_table_of_ones_own_goes_over_the_built_in_one(tmp_path: Path) -> None:
    path = own_table(tmp_path)
    assert shown("--models", path).splitlines()[-1].split()[:3] == ["my-model", "-", "50,000"]
    assert "  threshold: 40,000" in shown("my-model", "--models", path).splitlines()
    body = request(20) | {"model": "my-model"}
    alone = compactor("compact", "--counter", "chars4", stdin=as_bytes(body))
    assert (alone.returncode, b"model_unknown" in alone.stderr) == (1, True)
    own = own_table(tmp_path, context_in=2_000)
    ran = compactor("compact", "--counter", "chars4", "--models", own, stdin=as_bytes(body))
    assert ran.returncode == 0
    assert b"of 2,000)" in ran.stderr


def test_a_table_that_cannot_be_used_names_its_file_and_key(tmp_path: Path) -> None:
    for args in (["models"], ["compact"], ["explain"], ["context"]):
        path = own_table(tmp_path, context_out=1)
        ran = compactor(*args, "--models", path, stdin=as_bytes(request(2)))
        assert (ran.returncode, ran.stdout) == (1, b"")
        assert f"{path}: $.models[0]".encode() in ran.stderr
        assert b"[policy.unknown_key]" in ran.stderr


def test_the_table_is_never_written_over(tmp_path: Path) -> None:
    path = own_table(tmp_path)
    ran = compactor("compact", "--models", path, "-o", path, stdin=as_bytes(request(2)))
    assert ran.returncode == 2
    assert b"are the same file" in ran.stderr


def test_breakpoints_are_placed_when_asked_for_and_the_rest_stays_byte_for_byte() -> None:
    data = as_bytes(request(20))
    plain = compactor("compact", *SMALL, "-q", stdin=data).stdout
    ran = compactor("compact", *SMALL, "-q", "--place-breakpoints", stdin=data)
    assert ran.returncode == 0
    marked = json.loads(ran.stdout)
    assert plain.count(b"cache_control") == 0
    assert ran.stdout.count(b"cache_control") == 3
    last = marked["messages"][-1]["content"][-1]
    assert last["cache_control"] == {"type": "ephemeral"}
    removed = [line for line in ran.stdout.splitlines() if b"cache_control" not in line]
    assert len(set(plain.splitlines()) - set(removed)) <= 3
