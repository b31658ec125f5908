"""`compactor models`: the model table, and what a policy for one of them comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from compactor import models as model_table
from compactor.cli.columns import aligned
from compactor.cli.options import complete_models, models_option
from compactor.cli.screen import plain, show, to_json
from compactor.core.policy import SPELLING, Policy, Rules, resolve
from compactor.loop import loop
from compactor.models import Model, ModelTable, Prices

_COLUMNS = ("name", "provider", "window", "counted with", "cached from", "binds thinking")
_PRICES = ("$/M in", "$/M cached", "$/M written", "$/M out")
_RIGHT = ("window", "cached from", *_PRICES)
_NO_VALUE = "-"


@click.command("models", short_help="Show the model table: windows, counters, prices.")
@click.argument("name", required=False, shell_complete=complete_models)
@models_option
@click.option("--json", "as_json", is_flag=True, help="All fields, as JSON.")
def command(name: str | None, models: str | None, as_json: bool) -> None:
    """Show the model table: windows, counters, prices.

    With a NAME, as a request or a gateway spells it: all that is known of that model, and what a
    policy for it comes to. The window is the smaller of the context window and the first price
    step. Prices are US dollars per million tokens. A --models FILE has the shape of
    compactor/data/models.json; its rows go over the built-in ones.

    \b
    Examples:
      compactor models
      compactor models us.anthropic.claude-sonnet-4-5-20250929-v1:0
      compactor models --json | jq -r '.[] | select(.binds_thinking) | .name'
    """
    table = model_table.load(models) if models else model_table.built_in()
    if name is None:
        known = table.models()
        show(to_json([_fields(model) for model in known]) if as_json else _listed(known))
        return
    found = _found(table, name)
    rules = resolve(Policy(model=found.name), found.facts(), loop().compaction)
    whole = _fields(found) | {"policy": _policy(rules)}
    show(to_json(whole) if as_json else "\n".join(_shown(whole)))


def _found(table: ModelTable, name: str) -> Model:
    model = table.find(name)
    if model is None:
        raise table.unknown(name)
    return model


def _fields(model: Model) -> dict[str, Any]:
    """All fields of a row, and what follows from them."""
    derived = {"window": model.window, "binds_thinking": model.binds_thinking}
    fields: dict[str, Any] = msgspec.to_builtins(model)
    return {"name": fields.pop("name")} | derived | fields


def _policy(rules: Rules) -> dict[str, Any]:
    """The numbers that a model decides, in the config spelling."""
    names = ("reserve", "threshold", "limit", "recent_tokens", "min_freed", "reasoning")
    chosen = {SPELLING.get(name, name): getattr(rules, name) for name in names}
    return chosen | {"evidenceBudgetTokens": rules.evidence_budget}


def _listed(known: Sequence[Model]) -> str:
    rows = [(*_facts(model), *_prices(model.prices_at(0))) for model in known]
    return "\n".join(aligned((*_COLUMNS, *_PRICES), rows, _RIGHT))


def _facts(model: Model) -> tuple[str, ...]:
    smallest = model.min_cache_tokens
    return (
        plain(model.name),
        plain(model.provider) or _NO_VALUE,
        f"{model.window:,}",
        f"{model.counter} * {model.counter_scale / 1000:g}",
        _NO_VALUE if smallest is None else f"{smallest:,}",
        model.prefix_check.replace("_", " ") if model.binds_thinking else _NO_VALUE,
    )


def _prices(prices: Prices | None) -> tuple[str, ...]:
    if prices is None:
        return (_NO_VALUE,) * len(_PRICES)
    found = (prices.input, prices.cache_read, prices.cache_write, prices.output)
    return tuple(_NO_VALUE if price is None else dollars(price) for price in found)


def dollars(micro: int) -> str:
    """Micro-dollars as dollars, exactly: 1250000 is 1.25."""
    whole, rest = divmod(micro, 10**6)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


def _shown(whole: dict[str, Any]) -> list[str]:
    """A line a field; prices and policy indented below theirs."""
    width = max(map(len, whole)) + 1
    lines: list[str] = []
    for key, value in whole.items():
        if key == "prices":
            lines += [f"{key}:", *map(_price_line, value)] if value else [f"{key}: not known"]
        elif isinstance(value, dict):
            lines += [f"{key}:", *(f"  {name}: {_said(inner)}" for name, inner in value.items())]
        else:
            lines.append(f"{key + ':':<{width}} {_said(value)}")
    return lines


def _price_line(prices: dict[str, Any]) -> str:
    above = prices.get("above") or 0
    said = [f"{k} {dollars(v)}" for k, v in prices.items() if k != "above" and v is not None]
    step = f"above {above:,} tokens: " if above else ""
    return f"  {step}{', '.join(said)}"


def _said(value: Any) -> str:
    if value is None or value == "":
        return _NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else plain(str(value))
