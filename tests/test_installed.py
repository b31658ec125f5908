"""Formats of other packages: real ones, installed by pip or as installers lay them out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from cli_kit import ROOT, environment

from tests.docs.markdown import code_blocks

LENS = code_blocks(ROOT / "docs" / "formats.md", "python")[0]
"""The example of the page about formats."""
CHAT = {
    "chat": [
        {"who": "human", "text": "go"},
        *(
            {"who": "tool", "tool": "bash", "asked": f"run {n}", "text": "a line of a log\n" * 60}
            for n in range(9)
        ),
        {"who": "bot", "text": "done"},
    ]
}


def project(folder: Path, name: str, module: str, points: dict[str, str]) -> None:
    """A project of one module that brings formats."""
    lines = "\n".join(f'{format_name} = "{target}"' for format_name, target in points.items())
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        textwrap.dedent(
            f"""
            [build-system]
            requires = ["hatchling"]
            build-backend = "hatchling.build"
            [project]
            name = "{name}"
            version = "1.2"
            [project.entry-points."transcript_compactor.formats"]
            """
        )
        + lines,
        "utf-8",
    )
    (folder / f"{name.replace('-', '_')}.py").write_text(module, "utf-8")


def pip_install(folder: Path, target: Path) -> None:
    """Install a project as a user does, with what is here."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*command, str(folder)], check=True, timeout=300)


def lay_out(site: Path, name: str, module: str, points: dict[str, str]) -> None:
    """What an installer leaves of the same project."""
    about = site / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", "utf-8")
    lines = [f"{format_name} = {target}" for format_name, target in points.items()]
    text = "\n".join(["[transcript_compactor.formats]", *lines, ""])
    (about / "entry_points.txt").write_text(text, "utf-8")
    (site / f"{name.replace('-', '_')}.py").write_text(module, "utf-8")


def python(site: Path, code: str) -> Any:
    """What a program prints as JSON, with packages of this folder installed."""
    path = os.pathsep.join((str(ROOT), str(site)))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        env=environment({"PYTHONPATH": path}),
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def command(site: Path, *args: str | Path) -> tuple[int, str, str]:
    path = os.pathsep.join((str(ROOT), str(site)))
    done = subprocess.run(
        [sys.executable, "-m", "compactor", *map(str, args)],
        capture_output=True,
        env=environment({"PYTHONPATH": path}),
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example of the page about formats."""
    folder = tmp_path_factory.mktemp("third")
    project(folder / "src", "chat-log-format", LENS, {"chat-log": "chat_log_format:ChatLog"})
    pip_install(folder / "src", folder / "site")
    return folder / "site"


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT, indent=1), "utf-8")
    return path


def test_a_format_of_an_installed_package_is_found_by_content_and_by_name(
    installed: Path, chat: Path
) -> None:
    for args in ([], ["-f", "chat-log"]):
        code, out, err = command(
            installed, "compact", chat, *args, "--window", "1000", "--counter", "chars4"
        )
        assert (code, "compacted: " in err) == (0, True)
        before, after = CHAT["chat"], json.loads(out)["chat"]
        elided = [new["text"] for old, new in zip(before, after, strict=True) if old != new]
        assert len(elided) > 3
        assert all(text.startswith("[elided 960 chars of bash output]") for text in elided)


def test_every_way_in_knows_it(installed: Path, chat: Path) -> None:
    found = python(
        installed,
        f"""
        import json, compactor
        body = json.loads(open({str(chat)!r}).read())
        policy = compactor.Policy(window=1000, counter="chars4")
        [row] = compactor.inspect({str(chat)!r})
        print(json.dumps([
            compactor.detect(body),
            compactor.load({str(chat)!r}).format,
            len(compactor.compact(body, policy).report.passes) > 0,
            compactor.compact(body, policy, format="chat-log").report.format,
            [row.format, row.entries["tool"], row.tools],
        ]))
        """,
    )
    assert found == ["chat-log", "chat-log", True, "chat-log", ["chat-log", 9, {"bash": 9}]]


def test_without_the_package_the_file_is_of_no_known_format(tmp_path: Path, chat: Path) -> None:
    code, out, err = command(tmp_path, "compact", chat)
    assert (code, out, "[input.format_unknown]" in err) == (1, "", True)
    code, out, err = command(tmp_path, "compact", chat, "-f", "chat-log")
    assert (code, out, "there is no format 'chat-log'" in err) == (1, "", True)


def test_an_unknown_name_is_told_the_nearest_of_all_formats(installed: Path, chat: Path) -> None:
    _, _, err = command(installed, "compact", chat, "-f", "chat-lag")
    assert "did you mean chat-log? known: " in err
    assert ", chat-log)" in err


def test_nothing_is_imported_or_looked_for_while_built_in_formats_are_enough(
    installed: Path,
) -> None:
    seen = python(
        installed,
        """
        import json, sys, compactor
        body = [{"role": "user", "content": "go"}]
        policy = compactor.Policy(window=1000, counter="chars4")
        compactor.compact(body, policy)
        compactor.compact(body, policy, format="anthropic")
        looked = compactor.installed._points.cache_info()
        before = [looked.misses, "chat_log_format" in sys.modules]
        compactor.detect({"chat": []})
        print(json.dumps([before, "chat_log_format" in sys.modules]))
        """,
    )
    assert seen == [[0, False], True]


BROKEN = {
    "at-import": ("import nothing_of_this_name", "a_format:Lens", "ModuleNotFoundError: No module"),
    "exits": ("raise SystemExit(3)", "a_format:Lens", "SystemExit: 3"),
    "no-such-name": ("x = 1", "a_format:Lens", "AttributeError: module 'a_format' has no"),
    "no-lens": ("x = 1", "a_format:x", "it has no recognises, read, messages, rewrite_body, "),
    "at-call": ("class Lens:\n def __init__(self): 1 / 0", "a_format:Lens", "ZeroDivisionError: "),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_one_is_an_error_by_its_name_and_a_hint_where_nothing_fits(
    kind: str, tmp_path: Path, chat: Path
) -> None:
    module, target, said = BROKEN[kind]
    lay_out(tmp_path, "a-format", module, {"bad": target})
    code, out, err = command(tmp_path, "compact", chat, "-f", "bad")
    assert (code, out) == (1, "")
    said_at = f"error: {chat}: the format 'bad' of a-format 1.2 cannot be used: {said}"
    assert err.startswith(said_at)
    assert err.endswith("(update or uninstall a-format) [input.format_broken]\n")
    code, out, err = command(tmp_path, "compact", chat)
    assert (code, out, "[input.format_unknown]" in err) == (1, "", True)
    assert f"the format 'bad' of a-format 1.2 cannot be used: {said}" in err


def test_a_broken_one_is_not_in_the_way_of_others(
    installed: Path, tmp_path: Path, chat: Path
) -> None:
    lay_out(tmp_path / "site", "a-format", "1 / 0", {"bad": "a_format:Lens"})
    (tmp_path / "mine.json").write_text('[{"role": "user", "content": "go"}]', "utf-8")
    path = os.pathsep.join(map(str, (tmp_path / "site", installed)))
    code, out, err = command(Path(path), "inspect", tmp_path / "mine.json", chat, "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["files"]
    assert [row["format"] for row in rows] == ["anthropic", "chat-log"]
    codes = [[finding["code"] for finding in row["findings"]] for row in rows]
    assert ["format_broken" in each for each in codes] == [False, True]


def test_a_name_that_exists_already_is_refused(tmp_path: Path, chat: Path) -> None:
    module = LENS.replace('name = "chat-log"', 'name = "codex"')
    lay_out(tmp_path, "a-format", module, {"codex": "chat_log_format:ChatLog"})
    _, _, err = command(tmp_path, "compact", chat)
    assert "the format 'codex' of a-format 1.2 cannot be used: there is a built-in format" in err
    code, _, err = command(tmp_path, "compact", chat, "-f", "codex")
    assert (code, "no row holds an item of a Codex rollout" in err) == (1, True)


def test_one_name_of_two_packages_is_neithers(tmp_path: Path, chat: Path) -> None:
    for name in ("b-format", "a-format"):
        lay_out(tmp_path, name, LENS, {"chat-log": f"{name.replace('-', '_')}:ChatLog"})
    code, _, err = command(tmp_path, "compact", chat, "-f", "chat-log")
    assert code == 1
    assert (
        "the format 'chat-log' of a-format 1.2 cannot be used: b-format 1.2 brings one too" in err
    )


def test_an_entry_point_is_named_as_its_format(tmp_path: Path, chat: Path) -> None:
    lay_out(tmp_path, "a-format", LENS, {"chats": "a_format:ChatLog"})
    _, _, err = command(tmp_path, "compact", chat, "-f", "chats")
    assert "cannot be used: its lens is named 'chat-log'" in err


FAILS = """
class Lens:
    name = "fails"
    def recognises(self, root): {recognises}
    def read(self, root, known=None): {read}
    def messages(self, root): return []
    def rewrite_body(self, root, entry, text): return []
    def rewrite_argument(self, root, entry, call, path, text): return []
"""


@pytest.mark.parametrize(
    ("recognises", "read", "code", "said"),
    [
        ("return root['no']", "", "input.format_unknown", "KeyError: 'no'"),
        ("return True", "return root['no']", "input.format_broken", "KeyError: 'no'"),
        ("return True", "return 5", "input.format_broken", "`read` gives no Reading"),
    ],
)
def test_one_that_fails_at_work_is_named(
    recognises: str, read: str, code: str, said: str, tmp_path: Path, chat: Path
) -> None:
    module = FAILS.format(recognises=recognises, read=read or "pass")
    lay_out(tmp_path, "a-format", module, {"fails": "a_format:Lens"})
    status, out, err = command(tmp_path, "context", chat)
    assert (status, out) == (1, "")
    assert f"the format 'fails' of a-format 1.2 cannot be used: {said}" in err
    assert err.endswith(f"[{code}]\n")
    assert "Traceback" not in err


def test_formats_of_other_packages_are_completed_after_the_built_in_ones(installed: Path) -> None:
    names = python(
        installed,
        "import json; from compactor import installed; print(json.dumps(installed.names()))",
    )
    assert names[-1] == "chat-log"
    assert "claude-code" in names
