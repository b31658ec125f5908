"""The pytest plugin, as pytest runs it: what it says of harnesses that do what people do wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
ALONE = ("-p", "no:syrupy", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
PLUGIN = ("-p", "no:compactor", "-p", "compactor_pytest", "--strict-markers")
"""The plugin by its module, also where it is installed: one cannot be loaded twice."""

HARNESS = '''
"""A harness, whose faults are what its subclasses do otherwise."""
import json


class Harness:
    tools = [{"name": name, "input_schema": {}} for name in ("bash", "grep", "read")]

    def __init__(self, send):
        self.send = send
        self.history = []
        self.step = 0

    def system(self):
        return "You fix builds. Be brief."

    def tool_list(self):
        return self.tools

    def past(self):
        return self.history

    def request(self):
        return {
            "model": "claude-sonnet-4-5",
            "system": self.system(),
            "tools": self.tool_list(),
            "messages": self.past(),
        }

    def run(self, steps=3):
        self.history = [{"role": "user", "content": "Why is the build red?"}]
        for self.step in range(steps):
            self.send(self.request())
            call = {"type": "tool_use", "id": f"toolu_{self.step}", "name": "bash"}
            call["input"] = {"command": f"make {self.step}", "timeout": 10}
            result = {"type": "tool_result", "tool_use_id": call["id"]}
            result["content"] = "no rule\\n" * 99
            self.history = [
                *self.history,
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
'''
FAULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "a timestamp in the system prompt": (
        """
        def system(self):
            return f"You fix builds. It is 2026-03-01T10:00:{self.step:02}Z."
        """,
        (
            "request 2 of 3 breaks the prompt cache in its system prompt: a clock",
            "*from byte *, in $.system",
            "    request 1: '…fix builds. It is 2026-03-01T10:00:00Z.'",
            "    request 2: '…fix builds. It is 2026-03-01T10:00:01Z.'",
            "  looks like  a clock: both are a time or a date",
            "  it costs    * of the * tokens of request 1 are read anew, *",
        ),
    ),
    "a uuid in the system prompt": (
        """
        def system(self):
            import uuid
            return f"Run {uuid.UUID(int=7**30 * (self.step + 1), version=4)}."
        """,
        ("*system prompt: a uuid", "  looks like  a uuid: both are a uuid, and each is a new one"),
    ),
    "tools in random order": (
        """
        def tool_list(self):
            import random
            tools = list(self.tools)
            random.Random(self.step + 2).shuffle(tools)
            return tools
        """,
        (
            "*breaks the prompt cache in its tools: a reordering of the tools",
            "*in $.tools?*?.name",
            "  looks like  a reordering of the tools: the same tools in another order (*",
        ),
    ),
    "a history with its keys sorted": (
        """
        def past(self):
            return json.loads(json.dumps(self.history, sort_keys=self.step == 2))
        """,
        (
            "request 3 of 3 breaks the prompt cache in its messages: a reordering of keys",
            "  looks like  a reordering of keys: *as when an object was",
        ),
    ),
    "a history that is serialised again": (
        """
        def request(self):
            return json.dumps(super().request(), indent=1 if self.step == 2 else None)
        """,
        (
            "request 3 of 3 breaks the prompt cache in its tools: a re-serialised request",
            "  it costs    nothing at a provider; *",
        ),
    ),
    "arguments that are serialised again": (
        """
        def past(self):
            if not self.history[1:]:
                return self.history
            call = {"id": "c", "type": "function", "function": {"name": "bash"}}
            spaced = (", ", ": ") if self.step == 2 else (",", ":")
            call["function"]["arguments"] = json.dumps({"a": 1, "b": 2}, separators=spaced)
            answer = {"role": "assistant", "content": None, "tool_calls": [call]}
            result = {"role": "tool", "tool_call_id": "c", "content": "so"}
            return [self.history[0], answer, result, *self.history[3:]]
        """,
        (
            "request 3 of 3 breaks the prompt cache in its messages: a re-serialised value",
            "*in $.messages?1?.tool_calls?0?.function.arguments",
            '    request 2: \'{"a":1,"b":2}\'',
            '    request 3: \'{"a": 1, "b": 2}\'',
        ),
    ),
    "a rewritten old message": (
        """
        def past(self):
            if self.step < 2:
                return self.history
            return [{"role": "user", "content": "Why is it broken?"}, *self.history[1:]]
        """,
        (
            "request 3 of 3 breaks the prompt cache in its messages: a rewritten old message",
            "*in $.messages?0?.content",
            "    request 2: 'Why is the build red?'",
            "    request 3: 'Why is it broken?'",
        ),
    ),
    "a sliding window": (
        """
        def past(self):
            return self.history[-3:]
        """,
        (
            "request 3 of 3 breaks the prompt cache in its messages: dropped messages",
            "  looks like  dropped messages: *sliding window (2 messages)",
        ),
    ),
}


def write(pytester: pytest.Pytester, test: str, **files: str) -> None:
    pytester.makepyfile(harness=HARNESS, test_it=test, **files)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*ALONE, *PLUGIN, *arguments)


@pytest.mark.parametrize("name", FAULTS)
def test_a_harness_with_a_fault_fails_and_the_fault_is_named(
    pytester: pytest.Pytester, name: str
) -> None:
    method, lines = FAULTS[name]
    write(
        pytester,
        f"import json\nfrom harness import Harness\n\nclass Faulty(Harness):\n{method}\n"
        "def test_the_cache(cache_stability):\n    Faulty(cache_stability.record).run()\n",
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(list(lines))
    result.stdout.no_fnmatch_line("*compactor_pytest.py*")


def test_a_harness_without_a_fault_passes(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        """
        from harness import Harness

        def test_the_cache(cache_stability):
            Harness(cache_stability.record).run()
        """,
    )
    run(pytester).assert_outcomes(passed=1)


BREAKING = """
import pytest
from harness import Harness

class Breaking(Harness):
    def system(self):
        return f"Step {self.step}."
"""
MARKED = {
    "breaks=2": "passed",
    "breaks=1": "failed",
    "ignore=['system prompt']": "passed",
    "ignore=['tools']": "failed",
    "breaks=2, conversations=1": "passed",
    "breaks=2, conversations=2": "failed",
    "breaks=2, apart=False, ignore=['spelling']": "passed",
}


@pytest.mark.parametrize("settings", MARKED)
def test_a_marker_says_what_may_pass(pytester: pytest.Pytester, settings: str) -> None:
    test = f"@pytest.mark.cache_stability({settings})\ndef test_it(cache_stability):\n"
    write(pytester, f"{BREAKING}\n{test}    Breaking(cache_stability.record).run()\n")
    run(pytester).assert_outcomes(**{MARKED[settings]: 1})


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("brakes=2", "*has no setting brakes: breaks, conversations, apart, ignore"),
        ("2", "*has no setting 2: *"),
        ("breaks=-1", "@pytest.mark.cache_stability: breaks=-1 is no number from 0 on"),
        ("ignore='model'", "*ignore='model' is no list of names"),
        ("ignore=['tol_choice']", "*ignore has no 'tol_choice': model, tools, *"),
        ("apart='no'", "*apart='no' is neither True nor False"),
    ],
)
def test_a_marker_that_means_nothing_is_an_error(
    pytester: pytest.Pytester, settings: str, problem: str
) -> None:
    test = f"@pytest.mark.cache_stability({settings})\ndef test_it(cache_stability):\n"
    write(pytester, f"{BREAKING}\n{test}    Breaking(cache_stability.record).run()\n")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([problem])


def test_the_nearest_marker_wins_setting_by_setting(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        f"""{BREAKING}
pytestmark = pytest.mark.cache_stability(breaks=0, conversations=1)

@pytest.mark.cache_stability(breaks=2)
class TestIt:
    def test_far(self, cache_stability):
        Breaking(cache_stability.record).run()

    @pytest.mark.cache_stability(breaks=1)
    def test_near(self, cache_stability):
        Breaking(cache_stability.record).run()

    def test_two(self, cache_stability):
        Breaking(cache_stability.record).run()
        cache_stability.record([{{"role": "user", "content": "another"}}])
""",
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*2 conversations were recorded, not 1"])


def test_the_configuration_allows_breaks_everywhere(pytester: pytest.Pytester) -> None:
    test = "def test_it(cache_stability):\n    Breaking(cache_stability.record).run()\n"
    write(pytester, f"{BREAKING}\n{test}")
    run(pytester, "-o", "cache_stability_breaks=2").assert_outcomes(passed=1)
    result = run(pytester, "-o", "cache_stability_breaks=two")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["cache_stability_breaks is a number, not 'two'"])


def test_a_test_that_fails_by_itself_says_so_and_nothing_else(pytester: pytest.Pytester) -> None:
    test = "    Breaking(cache_stability.record).run()\n    assert 1 == 2\n"
    write(pytester, f"{BREAKING}\ndef test_it(cache_stability):\n{test}")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*assert 1 == 2"])
    result.stdout.no_fnmatch_line("*prompt cache*")


def test_a_check_in_the_test_is_the_check_and_points_at_its_line(
    pytester: pytest.Pytester,
) -> None:
    write(
        pytester,
        f"""{BREAKING}
def test_caught(cache_stability):
    Breaking(cache_stability.record).run()
    with pytest.raises(AssertionError, match="breaks the prompt cache"):
        cache_stability.check()

def test_not_caught(cache_stability):
    Breaking(cache_stability.record).run()
    cache_stability.check()

def test_more_afterwards(cache_stability):
    Harness(cache_stability.record).run()
    cache_stability.check()
    Breaking(cache_stability.record).run()
""",
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines([">       cache_stability.check()", "E *breaks the prompt cache*"])
    result.stdout.no_fnmatch_line("*stream.py*")


def test_a_test_that_records_nothing_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(cache_stability):\n    pass\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["cache_stability recorded no request"])


def test_the_report_has_every_test_with_the_fixture(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        f"""{BREAKING}
def test_good(cache_stability):
    Harness(cache_stability.record).run(2)

def test_bad(cache_stability):
    Breaking(cache_stability.record).run(2)

def test_other():
    pass
""",
    )
    result = run(pytester, "--cache-stability-report", "out/report.json")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["cache stability: 2 tests in *report.json"])
    bad, good = json.loads((pytester.path / "out/report.json").read_text("utf-8"))["tests"]
    assert (good["test"], good["outcome"], good["requests"]) == (
        "test_it.py::test_good",
        "passed",
        2,
    )
    assert (good["breaks"], good["tokens_reread"], good["conversations"]) == ([], 0, ["1"])
    [found] = bad.pop("breaks")
    assert bad == {
        "test": "test_it.py::test_bad",
        "outcome": "failed",
        "requests": 2,
        "conversations": ["1"],
        "passes": 0,
        "allowed": 0,
        "tokens": bad["tokens"],
        "tokens_reread": found["tokens_reread"],
    }
    assert 0 < found.pop("tokens_reread") < bad["tokens"]
    assert found.pop("offset_bytes") > 0
    assert found == {
        "request": 2,
        "before": 1,
        "conversation": "1",
        "expected": False,
        "part": "system prompt",
        "path": "$.system",
        "looks_like": "counter",
        "old": "'Step 0.'",
        "new": "'Step 1.'",
    }


def test_the_marker_and_the_option_are_in_the_help(pytester: pytest.Pytester) -> None:
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.cache_stability(breaks=0, *"])
    run(pytester, "--help").stdout.fnmatch_lines(
        ["*--cache-stability-report=FILE*", "*cache_stability_breaks*"]
    )
    run(pytester, "--fixtures").stdout.fnmatch_lines(["cache_stability -- *"])


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with the package as it is here.

    It must not take itself for a worker of xdist when these tests run in one: syrupy is silent
    in a worker.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=kept | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_plugin_alone_imports_nothing_of_the_package(tmp_path: Path) -> None:
    code = "import sys, compactor_pytest; print([m for m in sys.modules if 'compactor' in m])"
    code += "; print([m for m in ('msgspec', 'tiktoken', 'syrupy', 'httpx2') if m in sys.modules])"
    assert python(tmp_path, "-c", code).stdout == "['compactor_pytest']\n[]\n"


def test_a_run_without_the_fixture_imports_nothing_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'compactor' not in sys.modules\n", "utf-8"
    )
    ran = python(tmp_path, "-m", "pytest", *PLUGIN, "-q")
    assert "1 passed" in ran.stdout, ran.stdout


SNAPSHOT = """
import pytest
from harness import Harness
from compactor.stability.snapshots import RequestStreamExtension

@pytest.mark.parametrize("name", ["plain", "Plain", "a/b", "a:b", "ü" * 300])
def test_the_requests(cache_stability, snapshot, name):
    harness = Harness(cache_stability.record)
    harness.run(2)
    assert cache_stability == snapshot(extension_class=RequestStreamExtension)
"""


def test_a_stream_is_kept_as_one_readable_file_and_a_change_shows(tmp_path: Path) -> None:
    (tmp_path / "harness.py").write_text(HARNESS, "utf-8")
    (tmp_path / "test_it.py").write_text(SNAPSHOT, "utf-8")
    pytest_it = ("-m", "pytest", *PLUGIN, "-q", "-p", "no:cacheprovider")
    written = python(tmp_path, *pytest_it, "-W", "error", "--snapshot-update")
    assert (written.returncode, "5 snapshots generated" in written.stdout) == (0, True)
    kept = tmp_path / "__snapshots__" / "test_it"
    names = sorted(path.name for path in kept.iterdir())
    assert len({name.lower() for name in names}) == 5
    assert [
        name for name in names if not re.fullmatch(r"[\w.,=+\[\]-]{1,120}", name, re.ASCII)
    ] == []
    text = (kept / "test_the_requests[plain].txt").read_text("utf-8")
    assert [line for line in text.split("\n") if line.startswith(("===", "goes"))] == [
        "=== request 1, conversation 1: anthropic, 60 tokens (o200k_base)",
        "=== request 2, conversation 1: anthropic, 453 tokens (o200k_base)",
        "goes on from request 1",
    ]
    (tmp_path / "harness.py").write_text(HARNESS.replace("Be brief", "Be quick"), "utf-8")
    shorter = SNAPSHOT.replace(', "ü" * 300', "")
    (tmp_path / "test_it.py").write_text(shorter, "utf-8")
    changed = python(tmp_path, *pytest_it)
    assert changed.returncode == 1
    assert "-   | You fix builds. Be brief." in changed.stdout
    assert "+   | You fix builds. Be quick." in changed.stdout
    assert "4 snapshots failed. 1 snapshot unused." in changed.stdout


def test_without_syrupy_the_import_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "syrupy.py").write_text("raise ImportError('No module named syrupy')", "utf-8")
    ran = python(tmp_path, "-c", "import compactor.stability.snapshots")
    assert ran.stderr.rstrip().endswith(
        "ImportError: snapshots of requests need syrupy: pip install 'transcript-compactor[pytest]'"
    )


def test_a_filter_on_a_snapshot_of_requests_is_refused() -> None:
    from compactor.stability.snapshots import RequestStreamExtension

    with pytest.raises(TypeError, match="unfiltered"):
        RequestStreamExtension().serialize([], exclude=lambda *_args: True)


def test_the_sample_project_of_the_documentation_passes(tmp_path: Path) -> None:
    copied(SAMPLE, tmp_path)
    ran = python(tmp_path, "-m", "pytest", *PLUGIN, "-q", "-p", "no:cacheprovider", "-W", "error")
    assert "4 passed" in ran.stdout, ran.stdout


SAMPLE = ROOT / "docs" / "sample_project"


def copied(folder: Path, into: Path) -> None:
    for path in folder.rglob("*"):
        if path.suffix in (".py", ".txt", ".toml"):
            target = into / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def test_faults_in_the_sample_project_are_caught(pytester: pytest.Pytester) -> None:
    copied(SAMPLE, pytester.path)
    harness = pytester.path / "harness.py"
    source = harness.read_text("utf-8")
    for right, wrong, said in SAMPLE_FAULTS:
        assert right in source
        harness.write_text("import json\n" + source.replace(right, wrong), "utf-8")
        result = run(pytester, "-k", "not as_they_are_sent")
        assert result.ret == 1
        result.stdout.fnmatch_lines([f"*{said}"])


def test_the_first_example_of_the_page_works_by_copy_and_paste(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs" / "pytest.md").read_text("utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    pytester.makepyfile(test_it=example)
    run(pytester).assert_outcomes(passed=1)
    clock = "f'It is 10:00:{len(history):02}.'"
    pytester.makepyfile(test_it=example.replace('"You fix builds."', clock))
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["request 2 of 3 breaks * in its system prompt: a clock"])


HYGIENE = """
import unittest
import pytest

def ask(stream, second):
    said = [{"role": "user", "content": "a"}]
    stream.record({"system": f"It is 10:00:0{second}.", "messages": said})

class TestOld(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _stream(self, cache_stability):
        self.stream = cache_stability

    def test_failing(self):
        ask(self.stream, 1)
        ask(self.stream, 2)

    def test_passing(self):
        ask(self.stream, 1)

@pytest.fixture
def late(cache_stability):
    yield ask(cache_stability, 1)
    ask(cache_stability, 2)

def test_a_fixture_that_sends_behind_the_test(late):
    pass

def test_a_fixture_behind_a_test_that_fails(late):
    raise KeyError("of its own")

def test_skipped(cache_stability):
    pytest.skip("nothing is asked")

@pytest.mark.xfail(strict=True)
def test_expected(cache_stability):
    ask(cache_stability, 1)
    ask(cache_stability, 2)
"""


def test_tests_of_every_kind_are_checked_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(HYGIENE)
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=2, errors=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_a_fixture_that_sends_behind_the_test*",
            "request 2 of 2 breaks the prompt cache *",
            "*TestOld.test_failing*",
            "request 2 of 2 breaks the prompt cache *",
            "*test_a_fixture_behind_a_test_that_fails*",
            "E *KeyError: 'of its own'",
        ]
    )


def test_a_client_of_the_session_is_itself_again_after_each_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import httpx2
        import pytest

        @pytest.fixture(scope="session")
        def client():
            answer = httpx2.MockTransport(lambda _: httpx2.Response(200, json={}))
            with httpx2.Client(transport=answer) as http:
                yield http
                assert "send" not in vars(http)

        @pytest.mark.parametrize("k", range(3))
        def test_it(cache_stability, client, k):
            cache_stability.wrap(client)
            client.post("http://p/v1/messages", json={"messages": [{"role": "user"}]})
            assert len(cache_stability.requests) == 1
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_a_report_that_cannot_be_written_is_an_error_at_once(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--cache-stability-report", ".")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--cache-stability-report: * cannot be written: *"])


SAMPLE_FAULTS = (
    (
        '"system": SYSTEM',
        '"system": f"{SYSTEM} It is {__import__(\'datetime\').datetime.now()}."',
        "breaks the prompt cache in its system prompt: a clock",
    ),
    (
        '"tools": TOOLS',
        '"tools": TOOLS[:: len(self.messages) % 4 - 2]',
        "breaks the prompt cache in its tools: a reordering of the tools",
    ),
    (
        '"messages": self.messages,',
        '"messages": json.loads(json.dumps(self.messages, sort_keys=len(self.messages) > 4)),',
        "breaks the prompt cache in its messages: a reordering of keys",
    ),
    (
        "create(**out.request)",
        'create(**out.request | {"messages": out.request["messages"][-5:]})',
        "breaks the prompt cache in its messages: dropped messages",
    ),
    (
        "        self.on_outcome(out)\n",
        "",
        "breaks the prompt cache in its messages: an elision that nobody told of",
    ),
)
"""What is right in the sample, what somebody makes of it, and what the plugin says."""
