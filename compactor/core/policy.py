"""What the user asks for (`Policy`), and the integers that the rules use (`Rules`).

Every row of DESIGN section 4 is one field: snake case in Python, the seed's spelling in the config
file and in cases. `resolve` turns the one into the other with the facts of a model; nothing else
computes a threshold. No floats anywhere.
"""

from __future__ import annotations

import difflib
import hashlib
import string
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from compactor.core.errors import PolicyError
from compactor.core.texts import ArtifactId, CompactionNumbers

_T = TypeVar("_T")

MODES = ("elide", "summarize")
TRIGGERS = ("threshold", "priced")
REASONING = ("provider", "keep", "drop")

SPELLING = {
    "reserve_tokens": "reserveTokens",
    "keep_recent": "keepRecent",
    "recent_tokens": "recentTokens",
    "evidence_budget_tokens": "evidenceBudgetTokens",
    "evidence_tools": "evidenceTools",
    "protected_tools": "protectedTools",
    "artifact_ids": "artifactIds",
    "min_gain": "minGain",
    "min_freed": "minFreed",
    "overhead_tokens": "overheadTokens",
    "counter_scale": "counterScale",
    "elide_inputs": "elideInputs",
    "remind_at": "remindAt",
    "last_margin": "lastMargin",
    "protect_first_user": "protectFirstUser",
    "code_mode": "codeMode",
}
"""Python name to config spelling; every other name is the same in both."""


class ModelFacts(msgspec.Struct, frozen=True):
    """What the model table says of a model, as far as a policy needs it.

    window: tokens, the smaller of context window and price cliff; None where only the model's
        family is known.
    counter, counter_scale: how to count for it.
    binds_thinking: the provider ties thinking blocks to the prefix before them.
    tariff: prices of cached input and of a cache write, per mille of the input price.
    """

    name: str
    window: int | None
    counter: str
    counter_scale: int
    binds_thinking: bool = False
    tariff: tuple[int, int] | None = None


class Policy(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename=SPELLING,
):
    """What to keep and when to act. Every field has a default; None means "derived".

    Args:
        window: context window in tokens; None takes the model's.
        model: model name for window and counter; None takes the request's own.
        reserve_tokens: tokens kept free below the window; default window * 2 // 10.
        keep_recent: trailing entries kept verbatim (0 means 1).
        recent_tokens: at most so many tokens are kept as recent; default the reserve.
        evidence_budget_tokens: tokens of old evidence kept verbatim; default half the reserve.
        evidence_tools: tools whose results are evidence, by name or after the last `__`.
        protected_tools: tools whose results are never elided and never charged.
        pins: seqs kept verbatim.
        artifact_ids: kinds of ids that markers cite.
        min_gain: tokens an elision must save.
        min_freed: tokens a pass must free to be worth a cache break; default reserve // 10, and
            reserve // 40 for a priced pass that looks ahead.
        trigger: when a pass is due: `threshold`, or `priced`: also when what it frees is worth the
            cache that it breaks.
        read: price of cached input, per mille of the input price; default the model's.
        write: price of writing input to the cache, per mille of the input price; default the
            model's, 1000 where there is no fee.
        patience: a priced pass is made once waiting has cost so much, per mille of its price; None
            looks ahead instead.
        elide_inputs: long strings in the arguments of old answered calls go too.
        reasoning: signed reasoning after a change: `provider` lets the API drop what it no longer
            accepts, `keep` does nothing, `drop` removes it; None takes `provider` for models that
            bind thinking to its prefix, else `keep`.
        recallable: markers say how to recall the original.
        enabled: False changes nothing and reports.
        mode: `elide`; `summarize` is reserved and does nothing.
        overhead_tokens: tokens of system prompt and tools; None counts them in the request.
        counter: `o200k_base`, `cl100k_base`, `chars4`, or `claude_v3`, `claude_v4_7` of an extra
            package; None takes the model's.
        counter_scale: per mille; None takes the model's, 1000 for a counter given by name.
        hygiene: sessions give results ids, stubs, caps and diffs.
        editing: sessions let the model edit its own context.
        remind_at: shares of the window, per mille, past which a result says how full it is;
            default 500 and 750.
        last_margin: the last of them lies so far below the threshold, per mille; default 200.
        protect_first_user: no edit touches the first user message.
        code_mode: readouts spell out how to call the tools.

    Raises:
        PolicyError: `policy.range` for a value that no request can satisfy.
    """

    window: int | None = None
    model: str | None = None
    reserve_tokens: int | None = None
    keep_recent: int | None = None
    recent_tokens: int | None = None
    evidence_budget_tokens: int | None = None
    evidence_tools: tuple[str, ...] | None = None
    protected_tools: tuple[str, ...] = ()
    pins: tuple[int, ...] = ()
    artifact_ids: tuple[ArtifactId, ...] | None = None
    min_gain: int | None = None
    min_freed: int | None = None
    trigger: str = "threshold"
    read: int | None = None
    write: int | None = None
    patience: int | None = None
    elide_inputs: bool = False
    reasoning: str | None = None
    recallable: bool = False
    enabled: bool = True
    mode: str = "elide"
    overhead_tokens: int | None = None
    counter: str | None = None
    counter_scale: int | None = None
    hygiene: bool = True
    editing: bool = False
    remind_at: tuple[int, ...] | None = None
    last_margin: int | None = None
    protect_first_user: bool = True
    code_mode: bool = False

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise _out_of_range(name, f"must be a whole number, not {value!r}")
            if value is not None and value < 0:
                raise _out_of_range(name, f"is negative ({value})")
        for name in ("window", "counter_scale"):
            if getattr(self, name) == 0:
                raise _out_of_range(name, "must be at least 1")
        for name in ("evidence_tools", "protected_tools", "pins", "artifact_ids", "remind_at"):
            value = getattr(self, name)
            if isinstance(value, list):
                msgspec.structs.force_setattr(self, name, tuple(value))
            elif not (value is None or isinstance(value, tuple)):
                raise _out_of_range(name, f"must be a list, not {value!r}")
        for name in ("evidence_tools", "protected_tools"):
            if any(not isinstance(tool, str) for tool in getattr(self, name) or ()):
                raise _out_of_range(name, "must be names of tools")
        if any(isinstance(pin, bool) or not isinstance(pin, int) or pin < 0 for pin in self.pins):
            raise _out_of_range("pins", "must be seqs, whole numbers from 0")
        shares = self.remind_at or ()
        if any(isinstance(s, bool) or not isinstance(s, int) or s < 0 for s in shares):
            raise _out_of_range("remind_at", "must be shares of the window, per mille")
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise _out_of_range(name, f"must be true or false, not {getattr(self, name)!r}")
        for name in ("model", "counter"):
            if not isinstance(getattr(self, name), str | None):
                raise _out_of_range(name, f"must be a name, not {getattr(self, name)!r}")
        self._check_choices()

    def _check_choices(self) -> None:
        for name, choices in (("mode", MODES), ("trigger", TRIGGERS), ("reasoning", REASONING)):
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise _out_of_range(name, f"is {value!r}; it must be one of {', '.join(choices)}")
        for kind in self.artifact_ids or ():
            _check_artifact_id(kind)


class Rules(msgspec.Struct, frozen=True, omit_defaults=True):
    """A policy resolved to the numbers that the pass uses. All in tokens unless named otherwise.

    read, write: of the priced trigger, per mille; both 0 where passes wait for the threshold.
    patience: of the ski-rental rule, per mille; None takes the look-ahead rule.
    priced_min_freed: what a pass below the threshold must free.
    """

    window: int
    reserve: int
    keep_recent: int
    recent_tokens: int
    evidence_budget: int
    evidence_tools: tuple[str, ...]
    protected_tools: tuple[str, ...]
    pins: tuple[int, ...]
    artifact_ids: tuple[ArtifactId, ...]
    min_gain: int
    min_freed: int
    limit: int
    """L of DESIGN: above it, a pass that frees little is still worth making."""
    aggressive_keep_recent: int
    aggressive_recent_tokens: int
    aggressive_evidence_budget: int
    reasoning: str
    enabled: bool
    mode: str
    read: int = 0
    write: int = 0
    patience: int | None = None
    priced_min_freed: int = 0
    elide_inputs: bool = False

    @property
    def priced(self) -> bool:
        """Whether passes are also made for what they save."""
        return bool(self.read or self.write)

    @property
    def rents(self) -> bool:
        """Whether what waiting has cost decides about priced passes."""
        return self.priced and self.patience is not None

    @property
    def threshold(self) -> int:
        return self.window - self.reserve

    @property
    def acts(self) -> bool:
        """Whether passes are made at all."""
        return self.enabled and self.mode == "elide"

    def digest(self) -> str:
        """Identity of these settings: 16 hex digits."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


def resolve(policy: Policy, facts: ModelFacts | None, numbers: CompactionNumbers) -> Rules:
    """The rules of a policy.

    Args:
        policy: what the user asked for.
        facts: the model's, or None when no model is known.
        numbers: defaults of `loop.json`.

    Raises:
        PolicyError: `policy.model_unknown` without a window; `policy.range` for reserve ≥ window.
    """
    window = policy.window if policy.window is not None else (facts.window if facts else None)
    if window is None:
        raise PolicyError(
            "the context window is not known: no window was given and no known model is named",
            code="policy.model_unknown",
            path="window",
            hint="give --window N (Policy(window=N)) or a model of `compactor models`",
        )
    reserve = _given(policy.reserve_tokens, window * numbers.reserve_tenths // 10)
    if reserve >= window:
        raise _out_of_range("reserve_tokens", f"({reserve}) is not below the window ({window})")
    keep_recent = max(1, _given(policy.keep_recent, numbers.keep_recent))
    recent = _given(policy.recent_tokens, reserve)
    binds = facts is not None and facts.binds_thinking
    budget = _given(policy.evidence_budget_tokens, reserve // numbers.evidence_divisor)
    return Rules(
        window=window,
        reserve=reserve,
        keep_recent=keep_recent,
        recent_tokens=recent,
        evidence_budget=budget,
        evidence_tools=_given(policy.evidence_tools, numbers.evidence_tools),
        protected_tools=policy.protected_tools,
        pins=tuple(sorted(set(policy.pins))),
        artifact_ids=_given(policy.artifact_ids, numbers.artifact_ids),
        min_gain=_given(policy.min_gain, numbers.min_gain),
        min_freed=_given(policy.min_freed, reserve // numbers.min_freed_divisor),
        limit=window - reserve // numbers.limit_divisor,
        aggressive_keep_recent=min(keep_recent, numbers.aggressive_keep_recent),
        aggressive_recent_tokens=recent // numbers.aggressive_divisor,
        aggressive_evidence_budget=budget // numbers.aggressive_divisor,
        reasoning=_given(policy.reasoning, "provider" if binds else "keep"),
        enabled=policy.enabled,
        mode=policy.mode,
        elide_inputs=policy.elide_inputs,
        **(_prices(policy, facts, numbers, reserve) if policy.trigger == "priced" else {}),
    )


def _prices(
    policy: Policy, facts: ModelFacts | None, numbers: CompactionNumbers, reserve: int
) -> dict[str, Any]:
    """What the priced trigger goes by: the policy's, else the model's, else the usual tariff.

    Of a model whose cache makes nothing cheaper, read is write: no pass has a price.
    """
    tariff = facts.tariff if facts is not None and facts.tariff else numbers.tariff
    read, write = _given(policy.read, tariff[0]), _given(policy.write, tariff[1])
    is_given = policy.read is not None or policy.write is not None
    if is_given and not 0 < read < write:
        raise _out_of_range("read", f"({read}) must be above 0 and below write ({write})")
    read = min(read, write)
    looks_ahead = policy.patience is None
    divisor = numbers.priced_min_freed_divisor if looks_ahead else numbers.min_freed_divisor
    least = _given(policy.min_freed, reserve // divisor)
    return {"read": read, "write": write, "patience": policy.patience, "priced_min_freed": least}


def policy_from(settings: Mapping[str, Any], place: str) -> Policy:
    """A policy from config-file settings.

    Args:
        settings: config spelling; the seed's nesting under `compaction` is flattened.
        place: file or section, for errors.

    Raises:
        PolicyError: `policy.unknown_key` suggests the nearest; `policy.range` for a wrong value.
    """
    flat = {key: value for key, value in settings.items() if key != "compaction"}
    nested = settings.get("compaction", {})
    if not isinstance(nested, Mapping):
        raise PolicyError("must be a table", code="policy.range", path=f"{place}: compaction")
    flat.update(nested)
    known = sorted(_config_names())
    for key in flat:
        if key not in known:
            near = difflib.get_close_matches(_spelled(key), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(known)
            raise PolicyError(
                f"unknown setting {key!r}", code="policy.unknown_key", path=place, hint=hint
            )
    try:
        return msgspec.convert(flat, Policy)
    except msgspec.ValidationError as error:
        raise PolicyError(str(error), code="policy.range", path=place) from error
    except PolicyError as error:
        raise PolicyError(
            error.message, code=error.code, path=f"{place}: {error.path}", hint=error.hint
        ) from error


def named(tool: str, names: tuple[str, ...]) -> bool:
    """Whether a tool is listed: by its whole name, or by what follows the last `__`."""
    return tool in names or tool.rsplit("__", 1)[-1] in names


def alphabet_of(kind: ArtifactId) -> str:
    """The characters of an alphabet such as `0-9a-f`, each once, in order."""
    text, found, i = kind.alphabet, [], 0
    while i < len(text):
        if i + 2 < len(text) and text[i + 1] == "-":
            found += [chr(code) for code in range(ord(text[i]), ord(text[i + 2]) + 1)]
            i += 3
        else:
            found.append(text[i])
            i += 1
    return "".join(dict.fromkeys(found))


_COUNTS = (
    "window", "reserve_tokens", "keep_recent", "recent_tokens", "evidence_budget_tokens",
    "min_gain", "min_freed", "overhead_tokens", "counter_scale", "last_margin",
    "read", "write", "patience",
)  # fmt: skip
_SWITCHES = (
    "enabled", "recallable", "elide_inputs", "hygiene", "editing", "protect_first_user",
    "code_mode",
)  # fmt: skip
_ID_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-.:/")


def _check_artifact_id(kind: ArtifactId) -> None:
    """Ids go into trusted text: only plain characters, of a bounded length."""
    if not isinstance(kind, ArtifactId) or not set(kind.alphabet) <= _ID_CHARACTERS:
        raise _out_of_range("artifact_ids", "may hold only letters, digits and _ - . : /")
    characters = set(alphabet_of(kind))
    if not 1 <= kind.length <= 64 or len(kind.prefix) > 64:
        raise _out_of_range("artifact_ids", "needs a length of 1 to 64 and a prefix of at most 64")
    if not characters or not (characters | set(kind.prefix)) <= _ID_CHARACTERS:
        raise _out_of_range("artifact_ids", "may hold only letters, digits and _ - . : /")


def _given(value: _T | None, default: _T) -> _T:
    return default if value is None else value


def _config_names() -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(Policy)]


def _spelled(name: str) -> str:
    """`keep-recent` and `keep_recent` in the config spelling."""
    return SPELLING.get(name.replace("-", "_"), name)


def _out_of_range(name: str, problem: str) -> PolicyError:
    path = SPELLING.get(name, name)
    return PolicyError(f"{path} {problem}", code="policy.range", path=path)
