"""The model table: its facts, the names it answers to, and a user's file over it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compactor import counters, models
from compactor.core.errors import PolicyError
from compactor.core.policy import ModelFacts
from compactor.loop import shipped
from compactor.models import Model, Prices

DATA = json.loads(shipped("models.json").read_bytes())
REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"


def model(name: str) -> Model:
    found = models.find(name)
    assert found is not None, name
    return found


# --------------------------------------------------------------------------------------- the facts


def test_a_model_has_the_facts_of_its_row_and_the_counter_of_its_tokenizer() -> None:
    assert model("claude-sonnet-5-5") == Model(
        name="claude-sonnet-5-5",
        provider="anthropic",
        tokenizer="claude-v4.7",
        counter="o200k_base",
        counter_scale=1560,
        context_in=1_000_000,
        max_out=128_000,
        min_cache_tokens=512,
        cache_rule="anthropic_breakpoints",
        prefix_check="new_accounts",
        long_ttl="1h",
        prices=(
            Prices(
                input=2_000_000,
                output=10_000_000,
                cache_read=100_000,
                cache_write=2_500_000,
                cache_write_long=4_000_000,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("claude-sonnet-5", 1_000_000),
        ("claude-sonnet-4-5", 200_000),
        ("claude-haiku-5-5", 100_000),
        ("gpt-6.1-sol", 272_000),
        ("gpt-5.4-mini", 272_000),
        ("gpt-5.5", 272_000),
        ("gemini-2.5-pro", 200_000),
        ("gemini-2.5-flash", 1_048_576),
        ("kimi-k2.7-code", 262_144),
    ],
)
def test_the_window_is_the_context_or_the_price_cliff(name: str, window: int) -> None:
    assert model(name).window == window


def test_a_cliff_beyond_the_context_does_not_widen_the_window() -> None:
    steps = (Prices(input=1, output=1), Prices(above=500, input=2, output=2))
    small = Model(name="m", context_in=300, counter="chars4", counter_scale=1000, prices=steps)
    assert small.window == 300


def test_prices_change_just_above_the_cliff() -> None:
    haiku = model("claude-haiku-5-5")
    below, above = haiku.prices
    assert [haiku.prices_at(n) for n in (0, 1, 100_000, 100_001, 999_999)] == [
        below, below, below, above, above,
    ]  # fmt: skip
    assert (below.input, above.input, above.above) == (100_000, 500_000, 100_000)
    assert model("claude-fable-5-2").prices_at(1) is None


@pytest.mark.parametrize(
    ("name", "read", "write"),
    [
        ("claude-sonnet-5", 100, 1250),
        ("claude-fable-5-1", 25, 1250),
        ("gpt-5.4", 100, 1000),
        ("gpt-6.1-sol", 50, 1250),
        ("deepseek-v4-pro", 33, 1000),
        ("glm-5.2", 186, 1000),
    ],
)
def test_cache_prices_are_per_mille_of_the_input_price(name: str, read: int, write: int) -> None:
    prices = model(name).prices[0]
    assert (prices.read_per_mille, prices.write_per_mille) == (read, write)


def test_a_price_that_is_not_given_is_the_input_price() -> None:
    assert (
        Prices(input=7, output=9).read_per_mille,
        Prices(input=0, output=0).write_per_mille,
    ) == (
        1000,
        1000,
    )


def test_the_core_gets_what_a_policy_needs() -> None:
    assert models.facts("claude-haiku-5-5") == ModelFacts(
        "claude-haiku-5-5", 100_000, "o200k_base", 1560, True, (100, 1250)
    )
    assert models.facts("gpt-5.5") == ModelFacts(
        "gpt-5.5", 272_000, "o200k_base", 1000, False, (100, 1000)
    )
    assert models.facts("nobody") is None


def test_every_row_is_whole_and_its_counter_exists() -> None:
    assert models.names() == tuple(row["name"] for row in DATA["models"])
    assert len(set(models.names())) == len(DATA["models"]) == 79
    assert {model(name).counter for name in models.names()} <= set(counters.NAMES)
    assert [name for name in models.names() if model(name).name != name] == []


def test_scales_are_the_measured_ratio_rounded_up_to_the_next_ten() -> None:
    measured = {name: t for name, t in DATA["tokenizers"].items() if "measured" in t}
    assert {name: t["scale"] for name, t in measured.items()} == {
        name: -(-t["measured"]["tokens"] * 100 // t["measured"]["o200k_base"]) * 10
        for name, t in measured.items()
    }
    assert {name: t["scale"] for name, t in DATA["tokenizers"].items()} == {
        "o200k_base": 1000,
        "cl100k_base": 1000,
        "claude-v4.7": 1560,
        "claude-v3": 1240,
        "deepseek": 1080,
        "gemini": 1000,
        "unknown": 1000,
    }


def test_the_table_says_of_which_day_it_is_and_in_which_unit() -> None:
    assert DATA["_meta"]["made"] == "2026-11-30"
    assert DATA["_meta"]["prices"].startswith("micro-dollars per million tokens")


def test_nothing_is_read_before_the_first_question() -> None:
    script = """
from compactor import models
assert models.built_in.cache_info().currsize == 0
assert models.find("gpt-5.5").name == "gpt-5.5"
assert models.built_in.cache_info().currsize == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# --------------------------------------------------------------------------------------- the names


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("Claude-Sonnet-5 ", "claude-sonnet-5"),
        ("anthropic/claude-sonnet-5", "claude-sonnet-5"),
        ("anthropic:claude-sonnet-5", "claude-sonnet-5"),
        ("openrouter/anthropic/claude-sonnet-5", "claude-sonnet-5"),
        ("us.anthropic.claude-sonnet-5-20260601-v1:0", "claude-sonnet-5"),
        ("bedrock/us-gov.anthropic.claude-sonnet-5-v1:0", "claude-sonnet-5"),
        ("bedrock/converse/anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-v1:0",
            "claude-sonnet-4-5",
        ),
        ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-5-20260601", "claude-sonnet-5"),
        ("claude-sonnet-5-latest", "claude-sonnet-5"),
        ("claude-opus-4.8", "claude-opus-4-8"),
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("litellm_proxy/claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-3-7-sonnet"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("claude-sonnet-5.5-20261004", "claude-sonnet-5-5"),
        ("anthropic.claude-opus-5-5", "anthropic.claude-opus-5-5"),
        ("eu.anthropic.claude-opus-5-5-v1:0", "anthropic.claude-opus-5-5"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
        ("bedrock/us.amazon.nova-pro-v1:0", "amazon.nova-pro-v1:0"),
        ("gpt-5.5-2026-04-01", "gpt-5.5"),
        ("openai/gpt-5.4-mini", "gpt-5.4-mini"),
        ("gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
        ("azure/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-6.1-sol", "gpt-6.1-sol"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("google-gla:gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("moonshot-ai/kimi-k2.7-code", "kimi-k2.7-code"),
    ],
)
def test_a_model_is_found_however_providers_and_gateways_spell_it(spelled: str, name: str) -> None:
    assert model(spelled).name == name


@pytest.mark.parametrize(
    "spelled",
    [
        "",
        "/",
        "claude-sonnet-5-1",
        "claude-sonnet-5-5-5",
        "claude-sonnet-50",
        "claude-sonnet-3-20250514",
        "claude-sonnet-5-0",
        "not-claude-sonnet-5",
        "gpt-5.3-codex-spark",
        "gpt-6",
        "gpt-5.4-0",
        "gpt-4.1-small",
        "deepseek-flash-v4",
        "gemini-2.5-pro-preview-05-06",
        "claude-sonnet-5-2026060",
        "claude-sonnet-5-19990101",
        "claude-sonnet-5-２０２６０６０１",
        "openai/",
        "<synthetic>",
        "a/" * 5_000_000 + "gpt-5.5",
    ],
    ids=lambda name: name[:30] or "nothing",
)
def test_a_sibling_or_a_stranger_is_not_found(spelled: str) -> None:
    assert models.find(spelled) is None


def test_no_known_name_is_found_under_another_and_none_with_a_word_more() -> None:
    for name in models.names():
        assert models.find(f"gateway/{name}-latest") == model(name)
        assert models.find(f"{name}-small") is None
        if not name.startswith("a"):  # `xamazon.` would be a prefix
            assert models.find(f"x{name}") is None


@pytest.mark.parametrize(
    ("spelled", "near"),
    [
        ("claude-sonet-5", ["claude-sonnet-5", "claude-sonnet-5-5", "claude-sonnet-4-5"]),
        ("openai/gpt-5.4-micro", ["gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.4"]),
        ("zzz", []),
        ("z" * 10_000_000, []),
    ],
    ids=["typo", "sibling", "nothing", "huge"],
)
def test_the_nearest_names_are_suggested(spelled: str, near: list[str]) -> None:
    assert models.nearest(spelled)[: len(near)] == near
    assert len(models.nearest(spelled)) <= 3


def test_an_unknown_model_is_an_error_that_says_what_to_do() -> None:
    error = models.unknown("claude-sonet-5")
    assert (error.code, error.path, error.message) == (
        "policy.model_unknown",
        "model",
        "model 'claude-sonet-5' is not in the model table",
    )
    assert error.hint == (
        "did you mean 'claude-sonnet-5' or 'claude-sonnet-5-5' or 'claude-sonnet-4-5'? "
        "Else give --window N (Policy(window=N))"
    )
    assert models.unknown("zzz").hint == "give --window N (Policy(window=N))"


# ------------------------------------------------------------------------------------ a user's file


def write(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "models.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_users_file_changes_fields_and_adds_rows(tmp_path: Path) -> None:
    own = [
        {"name": "Claude-Sonnet-5", "context_in": 500_000},
        {"name": "house-model", "context_in": 64_000, "counter": "chars4", "counter_scale": 900},
        {"name": "house-claude", "context_in": 64_000, "tokenizer": "house"},
    ]
    tokenizers = {"house": {"counter": "cl100k_base", "scale": 1100}}
    table = models.load(write(tmp_path, {"models": own, "tokenizers": tokenizers}))
    before, after = model("claude-sonnet-5"), table.find("claude-sonnet-5-latest")
    assert after is not None
    assert (after.context_in, after.prices, after.counter_scale) == (500_000, before.prices, 1560)
    assert table.facts("us/house-model") == ModelFacts("house-model", 64_000, "chars4", 900)
    assert table.facts("house-claude") == ModelFacts("house-claude", 64_000, "cl100k_base", 1100)
    assert len(table.names()) == len(models.names()) + 2
    assert table.nearest("house-modell")[0] == "house-model"
    assert model("claude-sonnet-5") == before


def test_a_users_scale_for_a_family_holds_for_all_its_models(tmp_path: Path) -> None:
    own = {"tokenizers": {"gemini": {"counter": "o200k_base", "scale": 1130}}}
    table = models.load(write(tmp_path, own))
    scales = {n: f.counter_scale for n in table.names() if (f := table.facts(n)) is not None}
    assert scales["gemini-2.5-pro"] == scales["gemini-4-argon"] == 1130
    assert scales["gpt-5.5"] == 1000


def test_the_shipped_file_is_a_users_file_that_changes_nothing() -> None:
    same = models.load(shipped("models.json"))
    assert [same.find(name) for name in models.names()] == [model(n) for n in models.names()]


@pytest.mark.parametrize(
    ("data", "code", "key"),
    [
        ("{", "policy.range", "$"),
        ("\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "policy.range", "$"),
        ("[" * 100_000, "policy.range", "$"),
        ([], "policy.range", "$"),
        ({"model": []}, "policy.unknown_key", "$"),
        ({"models": [1]}, "policy.range", "$.models[0]"),
        ({"models": [{"context_in": 5}]}, "policy.range", "$.models[0]"),
        ({"models": [{"name": "m"}]}, "policy.range", "$.models[0]"),
        ({"models": [{"name": 5, "context_in": 5}]}, "policy.range", "$.models[0].name"),
        ({"models": [{"name": "", "context_in": 5}]}, "policy.range", "$.models[0].name"),
        ({"models": [{"name": "m", "context_in": 0}]}, "policy.range", "$.models[0].context_in"),
        ({"models": [{"name": "m", "context_in": 5.5}]}, "policy.range", "$.models[0].context_in"),
        ({"models": [{"name": "m", "context_in": 5, "window": 5}]}, "policy.unknown_key",
         "$.models[0]"),
        ({"models": [{"name": "m", "context_in": 5}, {"name": "n", "context_in": "5"}]},
         "policy.range", "$.models[1].context_in"),
        ({"models": [{"name": "m", "context_in": 5, "tokenizer": "x"}]}, "policy.range",
         "$.models[0].tokenizer"),
        ({"models": [{"name": "m", "context_in": 5, "tokenizer": [1]}]}, "policy.range",
         "$.models[0].tokenizer"),
        ({"models": [{"name": "m", "context_in": 5, "counter": "gpt2"}]}, "policy.range",
         "$.models[0]"),
        ({"models": [{"name": "m", "context_in": 5, "prices": [{"input": 0.3, "output": 1}]}]},
         "policy.range", "$.models[0].prices[0].input"),
        ({"models": [{"name": "m", "context_in": 5, "prices": [{"above": 9, "input": 1,
                                                                 "output": 1}]}]},
         "policy.range", "$.models[0]"),
        ({"tokenizers": {"gemini": {"counter": "gpt2", "scale": 1000}}}, "policy.range",
         "$.tokenizers[...]"),
        ({"tokenizers": {"gemini": {"counter": "chars4", "scale": 0}}}, "policy.range",
         "$.tokenizers[...].scale"),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused_with_file_and_key(
    data: Any, code: str, key: str, tmp_path: Path
) -> None:
    path = write(tmp_path, data)
    with pytest.raises(PolicyError) as caught:
        models.load(path)
    assert (caught.value.code, caught.value.path) == (code, f"{path}: {key}")
    assert caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        models.load(tmp_path / "none.json")
    error = caught.value
    assert (error.code, error.path, error.message) == (
        "policy.range",
        str(tmp_path / "none.json"),
        "cannot be read: No such file or directory",
    )


# ------------------------------------------------------------ against what the table was made from

if REFERENCE.is_dir():
    FIELDS = {
        "input": "input_cost_per_token",
        "output": "output_cost_per_token",
        "cache_read": "cache_read_input_token_cost",
        "cache_write": "cache_creation_input_token_cost",
    }
    SOURCE = {
        {"bedrock opus-5-5": "anthropic.claude-opus-5-5"}.get(row["model"], row["model"]): row
        for row in json.loads((REFERENCE / "models.json").read_bytes())["models"]
    }

    def micro(usd: float | None) -> int | None:
        return None if not usd else round(usd * 1_000_000)

    def expected_prices(row: dict[str, Any]) -> tuple[Prices, ...]:
        if row["input"] is None:
            return ()
        prices: dict[str, Any] = {name: micro(row[name]) for name in FIELDS}
        found = [Prices(cache_write_long=micro(row["cache_write_long_ttl"]), **prices)]
        for above, tier in row.get("tiers", {}).items():
            prices = {name: micro(tier.get(key)) for name, key in FIELDS.items()}
            found.append(Prices(above=int(above.removesuffix("k")) * 1000, **prices))
        return tuple(found)

    def test_the_table_begins_with_every_row_of_its_source() -> None:
        assert list(models.names())[: len(SOURCE)] == list(SOURCE)

    @pytest.mark.parametrize("name", SOURCE)
    def test_a_row_has_the_facts_of_its_source(name: str) -> None:
        row, found = SOURCE[name], model(name)
        facts = ("provider", "context_in", "max_out", "cache_rule")
        assert {f: getattr(found, f) for f in facts} == {f: row[f] for f in facts}
        assert found.min_cache_tokens == row.get("min_cache_tokens")
        assert found.prefix_check == row.get("prefix_check", "none")
        assert found.long_ttl == row.get("long_ttl")
        assert found.tokenizer == row.get("tokenizer", "unknown").split(" ")[0]
        assert found.prices == expected_prices(row)

    def test_scales_were_taken_from_the_samples_of_the_kinds_named() -> None:
        samples = json.loads((REFERENCE / "token_ratios.json").read_bytes())
        families = {"claude-v4.7": "claude_v47", "claude-v3": "claude_v3", "deepseek": "deepseek"}
        kinds = [samples[kind] for kind in DATA["_meta"]["kinds"]]
        assert {name: DATA["tokenizers"][name]["measured"] for name in families} == {
            name: {
                "tokens": sum(k[key] for k in kinds),
                "o200k_base": sum(k["o200k"] for k in kinds),
            }
            for name, key in families.items()
        }


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("claude-haiku-4-9-20251101", 1240),
        ("anthropic/claude-sonnet-4-9", 1240),
        ("us.anthropic.claude-3-9-sonnet-20250219-v1:0", 1240),
        ("claude-opus-9", 1560),
        ("gpt-4o-nano", 1000),
        ("deepseek-next", 1080),
    ],
)
def test_an_unknown_model_is_counted_as_its_family_and_has_no_window(name, scale):
    facts = models.facts(name)
    assert facts is not None
    assert (facts.window, facts.counter_scale) == (None, scale)
    assert models.find(name) is None


def test_a_model_of_no_known_family_has_no_facts():
    assert models.facts("house-model-7") is None
