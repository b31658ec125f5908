"""The documentation says what is so: examples run, commands parse, tables and links are current."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import inspect
import re
import runpy
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

import compactor
from compactor.cli.app import COMMANDS, cli
from compactor.journal_file import JournalFile
from compactor.testing import Conversation
from tests.docs.commands import command_of
from tests.docs.sample import SAMPLE, WINDOW
from tests.regenerate import PARTS, ROOT, pages, parts_of, rewritten

PAGES = pages()
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
each_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)
WITH_PYTHON = [page for page in PAGES if "\n```python\n" in page.read_text("utf-8")]
WITH_SHELL = [page for page in PAGES if "\n```sh\n" in page.read_text("utf-8")]
UNDOCUMENTED = {"lens", "with_edits"}
"""Of a transcript, for the code around it only."""
OTHER_PROGRAMS = ("jq", "less", "make", "pip", "sqlite3")

CODE = re.compile(r"(?:input|policy|journal|store|internal|output|recall|edit)\.[a-z_]+")


@each_page
def test_generated_parts_are_current(page: Path) -> None:
    text = page.read_text("utf-8")
    assert rewritten(text) == text, "run: python -m tests.regenerate"


def test_every_part_that_can_be_generated_is_on_one_page() -> None:
    used = [name for page in PAGES for name in parts_of(page.read_text("utf-8"))]
    assert sorted(used) == sorted(PARTS)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=[page.name for page in WITH_PYTHON])
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(page, tmp_path, monkeypatch)["__name__"] == "page"


@pytest.mark.parametrize("page", WITH_SHELL, ids=[page.name for page in WITH_SHELL])
def test_shell_examples_name_commands_and_options_that_exist(page: Path) -> None:
    lines = list(_shell_lines(page))
    assert lines
    for line in lines:
        for command in _pipeline(line):
            _parse(command)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        place, _, anchor = target.partition("#")
        linked = (page.parent / place).resolve() if place else page
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), target


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/[a-z]+\.md)\)", (ROOT / "README.md").read_text("utf-8")))
    assert linked == {name for name in NAMES if name.startswith("docs/")}


def test_the_sample_is_what_its_script_makes() -> None:
    made = runpy.run_path(str(SAMPLE.parent / "make.py"))["session"]().claude_code()
    assert SAMPLE.read_bytes() == made


def test_the_numbers_of_the_readme_are_what_the_command_prints() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    before, after = re.findall(r"(?:before|sent): ([\d,]+) tokens", readme)
    options = ["--window", str(WINDOW), "--recall"]
    compacted = CliRunner().invoke(cli, ["compact", str(SAMPLE), *options])
    assert f"compacted: {before} -> {after} tokens" in compacted.stderr
    shown = CliRunner().invoke(cli, ["diff", str(SAMPLE), *options]).stdout
    markers = re.findall(r"\[elided [^]]+\]", readme)
    assert len(markers) == 3
    assert all(f"\n+{marker}\n" in shown for marker in markers)


def test_every_error_code_is_documented_and_every_documented_one_exists() -> None:
    raised = {text for text in _strings() if CODE.fullmatch(text) or text == "counter_changed"}
    raised -= {"input.value", "output.value"}  # names of attributes in traces
    assert _documented("errors.md", "## Codes") == raised - _findings()


def test_every_finding_is_documented_and_every_documented_one_exists() -> None:
    of_input = _documented("formats.md", "## Findings")
    of_call = _documented("errors.md", "## Findings of a call")
    assert of_input | of_call == _findings()
    assert of_input & of_call == set()


def test_every_word_of_the_glossary_stands_once_and_in_order() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    words = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)[1:]
    assert words == sorted(set(words), key=str.lower)


def test_every_command_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert re.findall(r"^## compactor (\S+)$", text, re.MULTILINE) == list(COMMANDS)


def test_every_public_name_is_in_the_page_about_python() -> None:
    text = _prose(ROOT / "docs" / "python.md")
    wanted = set(compactor.__all__)
    for function in (compactor.compact, compactor.load, compactor.render, JournalFile.open):
        wanted |= set(inspect.signature(function).parameters)
    for shown in (compactor.Outcome, compactor.Transcript, JournalFile):
        wanted |= {name for name in vars(shown) if name.isidentifier() and name[0] != "_"}
    known = set(re.findall(r"[A-Za-z_]+", " ".join(re.findall(r"`[^`]+`", text))))
    assert wanted - known - UNDOCUMENTED == set()


def test_the_run_script_describes_every_command_it_has() -> None:
    script = (ROOT / "run").read_text("utf-8")
    described = re.findall(r"^#   \./run ([a-z]+)", script, re.MULTILINE)
    assert sorted(described) == sorted(_run_commands())


def test_the_hook_of_the_page_compacts_what_a_framework_hands_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = _run(ROOT / "docs" / "python.md", tmp_path, monkeypatch)
    hook = page["CompactInput"](compactor.Policy(window=12_000, overhead_tokens=0))
    items = _long_talk().openai_responses()["input"]
    for end in (len(items) - 4, len(items)):
        given = SimpleNamespace(model_data=ModelData(items[:end], "Be brief."))
        shown = hook(given)
        assert isinstance(shown, ModelData)
        assert (len(shown.input), shown.instructions) == (end, "Be brief.")
    assert "[elided " in str(shown.input)
    assert "[elided " not in str(items)


def test_the_gateway_of_the_page_goes_on_from_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = _run(ROOT / "docs" / "python.md", tmp_path, monkeypatch)
    page["policy"] = compactor.Policy(window=12_000)
    sent: list[Any] = []

    def send(request: Any, headers: dict[str, str]) -> None:
        assert headers == {}
        sent.append(request)

    talk = _long_talk()
    for count in (len(talk.facts) - 2, len(talk.facts)):
        body = talk.upto(count).anthropic()
        page["forward"]("a", body, send, tmp_path)
    assert (tmp_path / "a.journal").stat().st_size > 0
    assert "[elided " in str(sent[0])
    assert sent[1]["messages"][: len(sent[0]["messages"])] == sent[0]["messages"]


def test_the_harness_of_the_page_sends_what_compact_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = _run(ROOT / "docs" / "python.md", tmp_path, monkeypatch)
    client = Client()
    harness = page["Harness"](client, "claude-sonnet-4-5", [], "Be brief.")
    harness.ask("Why is the build red?")
    harness.ask("And now?")
    assert [len(request["messages"]) for request in client.requests] == [1, 3]
    assert client.requests[1]["extra_headers"] == {}


@dataclasses.dataclass
class ModelData:
    """What the OpenAI Agents SDK hands to its hook, as far as the hook looks."""

    input: list[Any]
    instructions: str


class Client:
    """Stands for a provider's client: answers each request with one text."""

    def __init__(self) -> None:
        self.messages = self
        self.requests: list[dict[str, Any]] = []

    def create(self, **request: Any) -> Any:
        self.requests.append({**request, "messages": list(request["messages"])})
        return SimpleNamespace(content=[{"type": "text", "text": "It is green."}])


def _long_talk() -> Conversation:
    talk = Conversation().user("go")
    for k in range(12):
        talk.call("bash", {"command": f"run {k}"}, result=f"line {k} of a log\n" * 200)
    return talk


def _run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that a page's examples leave, run in order in a folder of their own."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    names: dict[str, Any] = {"__name__": "page"}
    for line, block in _blocks(page, "python"):
        exec(compile("\n" * line + block, str(page), "exec"), names)
    return names


def _blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """Code blocks of a language, each with the number of lines before it."""
    text = page.read_text("utf-8")
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start(1)), match.group(1)


def _shell_lines(page: Path) -> Iterator[str]:
    for _, block in _blocks(page, "sh"):
        yield from filter(None, (line.partition(" #")[0].strip() for line in block.split("\n")))


def _pipeline(line: str) -> Iterator[list[str]]:
    """The commands of a line, without what is redirected."""
    inner = re.findall(r"\$\((.*?)\)", line)
    words = shlex.shlex(inner[0] if inner else line, posix=True, punctuation_chars="|<>")
    words.whitespace_split = True
    command: list[str] = []
    skip = False
    for word in words:
        if word == "|":
            yield command
            command = []
        elif word in ("<", ">"):
            skip = True
        elif skip:
            skip = False
        else:
            command.append(word)
    yield command


def _parse(command: Sequence[str]) -> None:
    """Fails where a command or an option does not exist."""
    match command:
        case ["compactor", name, *rest] if not name.startswith("-"):
            assert name in COMMANDS
            found = command_of(name)
            with found.make_context(name, list(rest)) as context:
                assert isinstance(context, click.Context)
        case ["compactor", option]:
            assert option in {flag for param in cli.params for flag in param.opts}
        case ["./run", name, *_]:
            assert name in _run_commands()
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module) is not None
        case _:
            assert command[0] in OTHER_PROGRAMS


def _run_commands() -> list[str]:
    script = (ROOT / "run").read_text("utf-8")
    return re.findall(r"^([a-z]+)\)$", script, re.MULTILINE)


def _prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def _anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have where it is shown."""
    headings = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def _documented(page: str, heading: str) -> set[str]:
    """The codes of the first table under a heading."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    section = text.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([a-z_.]+)` \|", section, re.MULTILINE))


def _trees() -> Iterator[ast.Module]:
    for path in sorted((ROOT / "compactor").rglob("*.py")):
        yield ast.parse(path.read_text("utf-8"))


def _strings() -> Iterator[str]:
    """Every text in the code."""
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def _findings() -> set[str]:
    """Codes of all findings that the code makes."""
    return {code for tree in _trees() for node in ast.walk(tree) for code in _finding(node)}


def _finding(node: ast.AST) -> Iterator[str]:
    """The code of a call of `Finding` or of a builder's `report`."""
    if not isinstance(node, ast.Call) or not node.args:
        return
    name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
    first = node.args[0]
    if name in ("Finding", "report") and isinstance(first, ast.Constant):
        yield str(first.value)
