"""The model table: window, counter, prices and cache facts of the models we know.

One dated data file, `data/models.json`; a user's file of the same shape overrides it row by row and
field by field. A name matches a row only as a whole, behind a provider's prefix and before a date
or version, so that a sibling (`gpt-5.4-mini`) never passes for a model (`gpt-5.4`). Integers only.
Read at the first question; offline.
Specification: DESIGN sections 3 and 4.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from compactor import counters
from compactor.core.errors import PolicyError
from compactor.core.policy import ModelFacts
from compactor.loop import shipped

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices of requests longer than `above`, in micro-dollars per million tokens.

    above: tokens of the whole prompt, cached or not; the row holds for all of them.
    cache_read: None where nothing is cheaper; then `input` holds.
    cache_write: None where writing has no price of its own; then `input` holds.
    cache_write_long: for the long lifetime; None where there is none or the price is not known.
    """

    above: Count = 0
    input: Count
    output: Count
    cache_read: Count | None = None
    cache_write: Count | None = None
    cache_write_long: Count | None = None

    @property
    def read_per_mille(self) -> int:
        """A cached token's price, per mille of an uncached one's, rounded to the nearest."""
        return self._per_mille(self.cache_read)

    @property
    def write_per_mille(self) -> int:
        """A written token's price, per mille of `input`; 1000 where writing has no fee."""
        return self._per_mille(self.cache_write)

    def _per_mille(self, price: int | None) -> int:
        if price is None or not self.input:
            return 1000
        return (price * 1000 + self.input // 2) // self.input


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model.

    name: as its provider's API spells it.
    tokenizer: family, a row of `tokenizers` in the data file.
    counter, counter_scale: how we count for it; scale per mille.
    context_in: longest prompt, tokens.
    max_out: longest answer, tokens; None when not known.
    min_cache_tokens: shortest prompt that is cached; None when not known.
    cache_rule: what the provider's cache does, a name of the replay's cache models.
    prefix_check: which accounts have thinking bound to the prefix before it.
    long_ttl: the longer cache lifetime on offer, e.g. `1h`.
    prices: cheapest first, by `above`; empty when not known.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    context_in: Positive
    provider: str = ""
    tokenizer: str = "unknown"
    counter: str
    counter_scale: Positive
    max_out: Positive | None = None
    min_cache_tokens: Count | None = None
    cache_rule: str = "automatic_prefix_unspecified"
    prefix_check: Literal["none", "new_accounts", "all_accounts"] = "none"
    long_ttl: str | None = None
    prices: tuple[Prices, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        steps = [price.above for price in self.prices]
        if steps and (steps[0] != 0 or steps != sorted(set(steps))):
            raise ValueError("`prices` must begin at `above` 0 and rise")
        _check_counter(self.counter)

    @property
    def window(self) -> int:
        """Tokens of a prompt that fit and are not charged more: min(context, first price cliff)."""
        return (
            min(self.context_in, self.prices[1].above) if len(self.prices) > 1 else self.context_in
        )

    @property
    def binds_thinking(self) -> bool:
        """Whether changing a message may invalidate the signed thinking after it."""
        return self.prefix_check != "none"

    def prices_at(self, prompt_tokens: int) -> Prices | None:
        """The row that holds for a prompt of this length; None when no price is known."""
        rows = [price for price in self.prices if price.above < prompt_tokens or not price.above]
        return rows[-1] if rows else None

    def facts(self) -> ModelFacts:
        """What a policy needs of it."""
        prices = self.prices[0] if self.prices else None
        return ModelFacts(
            self.name,
            self.window,
            self.counter,
            self.counter_scale,
            self.binds_thinking,
            tariff=(prices.read_per_mille, prices.write_per_mille) if prices else None,
        )


class ModelTable:
    """Models by name. Questions cost O(length of the name).

    Args:
        models: in the order of `names`; of two with one name the later holds.
        families: prefix → how to count for names that no model has; the first that fits holds.
    """

    def __init__(
        self, models: Iterable[Model], families: Mapping[str, Tokenizer] | None = None
    ) -> None:
        self._models = {_key(model.name): model for model in models}
        self._families = dict(families or {})

    def names(self) -> tuple[str, ...]:
        """All names, in the file's order."""
        return tuple(model.name for model in self._models.values())

    def models(self) -> tuple[Model, ...]:
        """All models, in the file's order."""
        return tuple(self._models.values())

    def find(self, name: str) -> Model | None:
        """The model of a name as a request, a log or a gateway spells it; None when not known.

        Prefixes end in `/`, `.` or `:` (`openrouter/anthropic/…`, `us.anthropic.…`, `openai:…`); a
        date, `-latest`, the `-0` of `claude-opus-4-0` or Bedrock's `-v1:0` may follow. The longest
        known name wins.
        """
        if len(name) > _NAME_CHARS:
            return None
        for tail in _tails(_key(name)):
            for spelled in _without_suffixes(tail):
                if spelled in self._models:
                    return self._models[spelled]
        return None

    def nearest(self, name: str) -> list[str]:
        """Up to three known names that look like this one, the likeliest first."""
        wanted = _key(name[-_NAME_CHARS:]).rsplit("/", 1)[-1]
        keys = difflib.get_close_matches(wanted, self._models, n=3)
        return [self._models[key].name for key in keys]

    def facts(self, name: str) -> ModelFacts | None:
        """What a policy needs of a model; of an unknown one its family's counter, without a window.

        Returns:
            None when not even the family is known.
        """
        model = self.find(name)
        if model is not None:
            return model.facts()
        if len(name) > _NAME_CHARS:
            return None
        tails = list(_tails(_key(name)))
        for prefix, family in self._families.items():
            if any(tail.startswith(prefix) for tail in tails):
                return ModelFacts(name, None, family.counter, family.scale)
        return None

    def unknown(self, name: str) -> PolicyError:
        """The error for a model that is needed and not known."""
        near = self.nearest(name)
        meant = f"did you mean {' or '.join(map(repr, near))}? Else " if near else ""
        return PolicyError(
            f"model {name[:_NAME_CHARS]!r} is not in the model table",
            code="policy.model_unknown",
            path="model",
            hint=f"{meant}give --window N (Policy(window=N))",
        )


def load(path: str | Path) -> ModelTable:
    """The built-in table with a user's rows over it, of the same shape as `data/models.json`.

    A row of a known name changes only the fields it gives; a new one needs `name` and `context_in`.

    Raises:
        PolicyError: `policy.unknown_key` or `policy.range`, with the file and the key.
    """
    built_in, own = _read(shipped("models.json")), _read(Path(path))
    tokenizers = built_in.tokenizers | own.tokenizers
    rows = {_key(row["name"]): row for row in built_in.models}
    for i, row in enumerate(own.models):
        key = _key(str(row.get("name", "")))
        rows[key] = rows.get(key, {}) | row
        _model(rows[key], tokenizers, f"{path}: $.models[{i}]")
    families = _families(own.families | built_in.families, tokenizers, str(path))
    return ModelTable((_model(row, tokenizers, str(path)) for row in rows.values()), families)


@cache
def built_in() -> ModelTable:
    """The table that ships with this version. Read once."""
    path = shipped("models.json")
    data = _read(path)
    models = [
        _model(row, data.tokenizers, f"{path}: $.models[{i}]") for i, row in enumerate(data.models)
    ]
    return ModelTable(models, _families(data.families, data.tokenizers, str(path)))


def find(name: str) -> Model | None:
    """`ModelTable.find` of the built-in table."""
    return built_in().find(name)


def nearest(name: str) -> list[str]:
    """`ModelTable.nearest` of the built-in table."""
    return built_in().nearest(name)


def names() -> tuple[str, ...]:
    """`ModelTable.names` of the built-in table."""
    return built_in().names()


def facts(name: str) -> ModelFacts | None:
    """`ModelTable.facts` of the built-in table."""
    return built_in().facts(name)


def unknown(name: str) -> PolicyError:
    """`ModelTable.unknown` of the built-in table."""
    return built_in().unknown(name)


class Tokenizer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to count for a family of models.

    scale: per mille of the counter's tokens.
    measured: tokens of the samples that the scale was taken from.
    """

    counter: str
    scale: Positive
    measured: dict[str, Positive] = {}
    note: str = ""

    def __post_init__(self) -> None:
        _check_counter(self.counter)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: list[dict[str, Any]] = []
    tokenizers: dict[str, Tokenizer] = {}
    families: dict[str, str] = {}
    meta: dict[str, Any] = msgspec.field(name="_meta", default_factory=dict)


_NAME_CHARS = 200  # the longest real name, a Bedrock ARN, is about 130
_DOT = re.compile(r"(?<=\d)\.(?=\d)")
_PREFIX = re.compile(r"[/.:]")
_SUFFIX = re.compile(
    r"(?:-latest|(?<=opus-4)-0|(?<=sonnet-4)-0|[-@]20\d{6}|-20\d\d-\d\d-\d\d|@latest|@default|-00\d|-v\d+:\d+|-v1)\Z",
    re.ASCII,
)


def _check_counter(name: str) -> None:
    if name not in counters.KNOWN:
        raise ValueError(f"`counter` is {name!r}; it must be one of {', '.join(counters.KNOWN)}")


def _key(name: str) -> str:
    """One spelling for all: lower case, and `claude-sonnet-4.5` is `claude-sonnet-4-5`."""
    return _DOT.sub("-", name.strip().lower())


def _tails(key: str) -> Iterator[str]:
    """The name, and what follows each end of a prefix, longest first."""
    yield key
    for end in _PREFIX.finditer(key):
        yield key[end.end() :]


def _without_suffixes(key: str) -> Iterator[str]:
    """The name, then without its last date or version, and so on."""
    yield key
    while found := _SUFFIX.search(key):
        key = key[: found.start()]
        yield key


def _read(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise PolicyError(problem, code="policy.range", path=str(path)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(error, f"{path}: $") from error


def _families(
    families: dict[str, str], tokenizers: dict[str, Tokenizer], place: str
) -> dict[str, Tokenizer]:
    """Prefixes with their tokenizers, checked."""
    for prefix, name in families.items():
        if name not in tokenizers:
            text = f"family {prefix!r} names the unknown tokenizer {name!r}"
            raise PolicyError(text, code="policy.range", path=f"{place}: $.families")
    return {prefix: tokenizers[name] for prefix, name in families.items()}


def _model(row: dict[str, Any], tokenizers: dict[str, Tokenizer], place: str) -> Model:
    """A row with the counter of its tokenizer filled in, checked."""
    family = row.get("tokenizer", "unknown")
    found = tokenizers.get(family) if isinstance(family, str) else None
    if found is None:
        known = ", ".join(tokenizers)
        raise PolicyError(
            f"unknown tokenizer {family!r}",
            code="policy.range",
            path=f"{place}.tokenizer",
            hint=f"known: {known}; or add it under `tokenizers`",
        )
    whole = {"counter": found.counter, "counter_scale": found.scale} | row
    try:
        return msgspec.convert(whole, Model)
    except msgspec.ValidationError as error:
        raise _refused(error, place) from error


def _refused(error: Exception, place: str) -> PolicyError:
    """msgspec's error with its place in the file in front, instead of behind."""
    problem, _, where = str(error).partition(" - at `$")
    unknown_key = problem.startswith("Object contains unknown field")
    return PolicyError(
        problem,
        code="policy.unknown_key" if unknown_key else "policy.range",
        path=place + where.rstrip("`"),
        hint="the shape is that of compactor/data/models.json",
    )
