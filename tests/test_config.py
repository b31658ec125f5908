"""Policies from files: every spelling gives the same policy, and nothing is skipped in silence."""

import json
from pathlib import Path

import msgspec
import pytest

from compactor.config import find_config, load_policy
from compactor.core.errors import PolicyError
from compactor.core.policy import Policy
from compactor.core.texts import ArtifactId

EVERYTHING = """
window = 100_000
model = "claude-sonnet-4-5"
reserveTokens = 20_000
keepRecent = 12
recentTokens = 15_000
evidenceBudgetTokens = 30_000
evidenceTools = ["scan_sinks"]
protectedTools = ["plan", "todo"]
pins = [0, 7]
artifactIds = [{ prefix = "job-", alphabet = "0-9", length = 6 }]
minGain = 30
minFreed = 900
trigger = "priced"
read = 100
write = 1250
patience = 900
elideInputs = true
reasoning = "keep"
recallable = true
enabled = false
mode = "summarize"
overheadTokens = 1234
counter = "cl100k_base"
counterScale = 1100
hygiene = false
editing = true
remindAt = [400, 800]
lastMargin = 100
protectFirstUser = false
codeMode = true
"""
POLICY = Policy(
    window=100_000,
    model="claude-sonnet-4-5",
    reserve_tokens=20_000,
    keep_recent=12,
    recent_tokens=15_000,
    evidence_budget_tokens=30_000,
    evidence_tools=("scan_sinks",),
    protected_tools=("plan", "todo"),
    pins=(0, 7),
    artifact_ids=(ArtifactId("job-", "0-9", 6),),
    min_gain=30,
    min_freed=900,
    trigger="priced",
    read=100,
    write=1250,
    patience=900,
    elide_inputs=True,
    reasoning="keep",
    recallable=True,
    enabled=False,
    mode="summarize",
    overhead_tokens=1234,
    counter="cl100k_base",
    counter_scale=1100,
    hygiene=False,
    editing=True,
    remind_at=(400, 800),
    last_margin=100,
    protect_first_user=False,
    code_mode=True,
)


def written(folder: Path, content: str, name: str = "compactor.toml") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def refusal(path: Path) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    return caught.value


def test_every_setting_of_a_policy_can_be_given_in_a_file(tmp_path: Path) -> None:
    assert load_policy(written(tmp_path, EVERYTHING)) == POLICY
    fields = [field.name for field in msgspec.structs.fields(Policy)]
    assert all(getattr(POLICY, name) not in (None, ()) for name in fields)


def test_toml_project_file_and_json_give_the_same_policy(tmp_path: Path) -> None:
    settings = msgspec.to_builtins(POLICY)
    texts = {
        "flat.toml": EVERYTHING,
        "nested.toml": f"[compaction]{EVERYTHING}",
        "pyproject.toml": f'[project]\nname = "x"\n[tool.compactor]{EVERYTHING}[tool.ruff]\n',
        "flat.json": json.dumps(settings),
        "seed.json": f"\n {json.dumps({'compaction': settings})}",
        "json-of-any-name": json.dumps(settings),
        "mark.toml": f"\ufeff{EVERYTHING}",
        "windows.toml": EVERYTHING.replace("\n", "\r\n"),
    }
    policies = {name: load_policy(written(tmp_path, text, name)) for name, text in texts.items()}
    assert policies == dict.fromkeys(texts, POLICY)


def test_the_seeds_config_file_is_read_as_it_stands_there(tmp_path: Path) -> None:
    text = """{
  "compaction": {
    "enabled": true,
    "mode": "elide",
    "reserveTokens": 60000,
    "keepRecent": 12,
    "evidenceBudgetTokens": 30000
  }
}
"""
    expected = Policy(reserve_tokens=60000, keep_recent=12, evidence_budget_tokens=30000)
    assert load_policy(written(tmp_path, text, "locac.json")) == expected


def test_an_empty_file_is_the_default_policy(tmp_path: Path) -> None:
    assert load_policy(written(tmp_path, "")) == Policy()
    assert load_policy(written(tmp_path, "{}", "x.json")) == Policy()


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("keep_recent", "keepRecent"),
        ("keep-recent", "keepRecent"),
        ("keepRecents", "keepRecent"),
        ("reserve", "reserveTokens"),
        ("evidenceBudget", "evidenceBudgetTokens"),
        ("windw", "window"),
    ],
)
def test_an_unknown_key_is_an_error_that_suggests_the_nearest(
    tmp_path: Path, key: str, meant: str
) -> None:
    error = refusal(written(tmp_path, f'"{key}" = 5\n'))
    assert error.code == "policy.unknown_key"
    assert error.path == str(tmp_path / "compactor.toml")
    assert (error.message, error.hint) == (f"unknown setting {key!r}", f"did you mean {meant!r}?")


def test_a_key_beside_the_seeds_section_is_an_error_too(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, '{"compaction": {}, "theme": "dark"}', "locac.json"))
    assert (error.code, error.message) == ("policy.unknown_key", "unknown setting 'theme'")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.toml", "window = 5\nkeepRecent = = 3\n", ":2"),
        ("a.toml", "window = 5\nwindow = 6\n", ":2"),
        ("a.toml", "window = 5\nevidenceTools = [\n", ":3"),
        ("a.toml", "pins = " + "[" * 100_000, ""),
        ("a.json", '{\n "window": 5,\n "keepRecent": }\n', ":3"),
        ("a.json", '{"window": 5, "window": 6}', ""),
        ("a.json", '{"pins": ' + "[" * 100_000, ""),
        ("pyproject.toml", "[project]\n", ""),
        ("pyproject.toml", '{"window": 5}', ":1"),
    ],
)
def test_what_is_no_config_file_is_refused_with_the_line(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    error = refusal(written(tmp_path, text, name))
    assert (error.code, error.path) == ("policy.syntax", f"{tmp_path / name}{place}")
    assert "at line" not in error.message


@pytest.mark.parametrize(
    "text",
    [
        "keepRecent = -1",
        "window = 0",
        'window = "big"',
        "keepRecent = 2.5",
        "keepRecent = true",
        'mode = "shrink"',
        'evidenceTools = "scan_sinks"',
        'artifactIds = [{ prefix = "a", alphabet = "*", length = 2 }]',
        'artifactIds = [{ prefix = "a", alphabet = "0-9" }]',
        "compaction = 5",
        "window = 2026-01-01",
    ],
)
def test_a_value_that_no_request_can_satisfy_names_the_file(tmp_path: Path, text: str) -> None:
    error = refusal(written(tmp_path, text))
    assert error.code == "policy.range"
    assert error.path.startswith(str(tmp_path / "compactor.toml"))


SHAPE = (
    'each is a table of {prefix, alphabet, length}, such as { prefix = "ev_", '
    'alphabet = "0-9a-f", length = 8 }'
)


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ('artifactIds = ["ev_:0-9:8"]', "artifactIds[0]", "must be a table, not a text", SHAPE),
        ('artifactIds = "ev_"', "artifactIds", "must be a list, not a text", SHAPE),
        (
            'artifactIds = [{ prefix = "a", alphabet = "0-9" }]',
            *("artifactIds[0]", "object missing required field `length`", SHAPE),
        ),
        (
            'artifactIds = [{ prefix = "a", alphabet = "0-9", length = "8" }]',
            *("artifactIds[0].length", "must be a whole number, not a text", SHAPE),
        ),
        ('window = "big"', "window", "must be a whole number, not a text", ""),
        ("recallable = 1", "recallable", "must be true or false, not a whole number", ""),
    ],
)
def test_a_value_of_the_wrong_type_is_said_in_words(
    tmp_path: Path, text: str, place: str, message: str, hint: str
) -> None:
    error = refusal(written(tmp_path, text))
    expected = ("policy.range", f"{tmp_path / 'compactor.toml'}: {place}", message, hint)
    assert (error.code, error.path, error.message, error.hint) == expected


def test_a_setting_both_flat_and_nested_is_refused(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, "window = 5\n[compaction]\nwindow = 6\n"))
    assert (error.code, error.message) == (
        "policy.range",
        "'window' is given twice, the second time under `compaction`",
    )


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.toml").code == "policy.unreadable"
    assert refusal(tmp_path).code == "policy.unreadable"
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    assert refusal(tmp_path / "latin.toml").code == "policy.syntax"


def test_the_config_of_a_folder_is_compactor_toml_then_our_section(tmp_path: Path) -> None:
    assert find_config(tmp_path) is None
    project = written(tmp_path, '[project]\nname = "compactor"\n', "pyproject.toml")
    assert find_config(tmp_path) is None
    written(tmp_path, "[tool.compactor]\nwindow = 5\n", "pyproject.toml")
    assert find_config(tmp_path) == project
    own = written(tmp_path, "window = 6\n")
    assert find_config(tmp_path) == own


def test_a_broken_project_file_of_others_is_none_of_our_business(tmp_path: Path) -> None:
    written(tmp_path, "[tool.ruff\n", "pyproject.toml")
    assert find_config(tmp_path) is None
    written(tmp_path, "[tool.compactor\n", "pyproject.toml")
    with pytest.raises(PolicyError) as caught:
        find_config(tmp_path)
    assert caught.value.code == "policy.syntax"
