"""What is installed: the wheel, the source archive, and the command line run from the wheel alone.

All built in this process and offline, with the build backend that `pip` would call.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest
from hatchling import build

from compactor import __version__
from compactor.cli.app import COMMANDS
from compactor.conformance.cases import load_cases
from compactor.loop import shipped

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NEEDED_BY_TESTS = ("benchmarks", "conformance", "docs", "golden", "tests")
GENERATED = ("__pycache__", ".snap.tmp")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(build.build_wheel, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as an installer lays it out."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(build.build_sdist, tmp_path_factory.mktemp("sdist"))


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel: Path) -> None:
    code = {name for name in _below(ROOT, "compactor") if not name.startswith("compactor/data/")}
    data = {name for name in _below(ROOT, "compactor") if name.startswith("compactor/data/")}
    beside = {f"compactor/data/{name}" for name in ("loop.json", *_below(ROOT, "conformance"))}
    about = f"transcript_compactor-{__version__}.dist-info"
    licences = {f"{about}/licenses/{name}" for name in PROJECT["license-files"]}
    files = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    assert _names(wheel) == code | data | beside | licences | files | {"compactor_pytest.py"}


@pytest.mark.parametrize(
    "name",
    [
        "compactor/py.typed",
        "compactor/data/o200k_base.vocab",
        "compactor/data/cl100k_base.vocab",
        "compactor/data/models.json",
        "compactor/data/loop.json",
        "compactor/data/conformance/compaction.json",
        "compactor/data/conformance/formats.json",
        "compactor/data/LICENSE-tiktoken",
    ],
)
def test_the_wheel_holds_what_is_read_at_run_time(unpacked: Path, name: str) -> None:
    installed = (unpacked / name).read_bytes()
    source = ROOT / name
    if not source.exists():
        source = ROOT / name.removeprefix("compactor/data/")
    assert installed == source.read_bytes()


def test_the_wheel_says_what_pyproject_says(unpacked: Path) -> None:
    about = unpacked / f"transcript_compactor-{__version__}.dist-info"
    said = Parser().parsestr((about / "METADATA").read_text("utf-8"))
    needed = [need for need in said.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert {
        "name": said["Name"],
        "version": said["Version"],
        "python": said["Requires-Python"],
        "license": said["License-Expression"],
        "needs": sorted(map(_project_name, needed)),
        "commands": (about / "entry_points.txt").read_text("utf-8").split("\n")[:2],
    } == {
        "name": PROJECT["name"],
        "version": __version__,
        "python": PROJECT["requires-python"],
        "license": PROJECT["license"],
        "needs": sorted(map(_project_name, PROJECT["dependencies"])),
        "commands": ["[console_scripts]", "compactor = compactor.cli:main"],
    }


def test_the_wheel_works_with_no_checkout_on_the_path(unpacked: Path, tmp_path: Path) -> None:
    where = _run(unpacked, tmp_path, "-c", _WHERE)
    places = [Path(line) for line in where.decode().splitlines()]
    assert all(place.is_relative_to(unpacked) for place in places)
    assert len(places) == 3
    version = _run(unpacked, tmp_path, "-m", "compactor", "--version")
    assert version == _run(ROOT, ROOT, "-m", "compactor", "--version")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_wheel_starts(unpacked: Path, tmp_path: Path, name: str) -> None:
    assert _run(unpacked, tmp_path, "-m", "compactor", name, "--help").startswith(b"Usage: ")


def test_the_wheel_compacts_the_sample_to_the_same_bytes(unpacked: Path, tmp_path: Path) -> None:
    sample = str(ROOT / "docs" / "sample" / "session.jsonl")
    command = ("-m", "compactor", "compact", sample, "--window", "24000", "--quiet")
    compacted = _run(unpacked, tmp_path, *command)
    assert compacted == _run(ROOT, ROOT, *command)
    assert b"[elided " in compacted


def test_pytest_finds_the_plugin_of_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_PLUGIN_TEST, "utf-8")
    assert b"2 passed" in _run(unpacked, tmp_path, "-m", "pytest", "-q", "--strict-markers")


def test_the_wheel_passes_the_cases_it_holds(unpacked: Path, tmp_path: Path) -> None:
    said = _run(unpacked, tmp_path, "-m", "compactor", "conformance").decode()
    passed, total = re.findall(r"(\d+) of (\d+) cases pass", said)[0]
    assert passed == total == str(len(load_cases([ROOT / "conformance"])))


def test_the_source_archive_holds_what_its_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {name for folder in NEEDED_BY_TESTS for name in _below(ROOT, folder)}
    needed |= {"loop.json", "pyproject.toml", "run", "README.md", "CHANGELOG.md", "LICENSE"}
    needed |= {"compactor_pytest.py"}
    assert needed - names == set()


def test_a_wheel_from_the_source_archive_is_the_wheel_from_the_checkout(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # none before 3.11.4
        archive.extractall(tmp_path)
    [root] = tmp_path.iterdir()
    again = _built(build.build_wheel, tmp_path, root)
    assert _contents(again) == _contents(wheel)


def test_a_checkout_reads_the_files_at_its_top() -> None:
    assert shipped("loop.json") == ROOT / "loop.json"
    assert shipped("conformance") == ROOT / "conformance"


def test_the_package_imports_only_what_it_depends_on() -> None:
    optional = PROJECT["optional-dependencies"]
    extras = [need for name, needs in optional.items() if name != "dev" for need in needs]
    needs = [*PROJECT["dependencies"], *extras]
    known = {_project_name(need) for need in needs} | {"compactor"}
    found = {
        name: top - set(sys.stdlib_module_names) - known
        for name, top in ((name, _imports(ROOT / name)) for name in _below(ROOT, "compactor"))
    }
    assert {name: odd for name, odd in found.items() if odd} == {}


def test_the_versions_agree() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.findall(r"^## (\S+)", changes, re.MULTILINE)[0]
    assert PROJECT["version"] == __version__ == newest


_PLUGIN_TEST = """
import sys
import pytest

def test_nothing_is_imported_before_the_fixture_is_used():
    assert "compactor_pytest" in sys.modules
    assert "compactor" not in sys.modules

@pytest.mark.cache_stability(breaks=1)
def test_the_fixture(cache_stability):
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "so"}]
    cache_stability.record({"system": "a", "messages": messages[:1]})
    cache_stability.record({"system": "b", "messages": messages})
    assert len(cache_stability.breaks) == 1
"""
_WHERE = """
import compactor
from compactor.loop import shipped
print(compactor.__file__, shipped("loop.json"), shipped("conformance"), sep="\\n")
"""


def _built(make: object, folder: Path, root: Path = ROOT) -> Path:
    """What a build hook makes of a project; hooks work in the project's folder."""
    assert callable(make)
    before = Path.cwd()
    os.chdir(root)
    try:
        return folder / str(make(str(folder)))
    finally:
        os.chdir(before)


def _run(package: Path, folder: Path, *arguments: str) -> bytes:
    """Run Python with a package and what it depends on, and without any `.pth` of this machine."""
    paths = (str(package), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    env = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"}
    command = [sys.executable, "-S", "-P", "-B", *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | env, check=True, capture_output=True, timeout=120
    ).stdout


def _below(root: Path, folder: str) -> Iterator[str]:
    """Files of a folder, as an archive names them."""
    for path in sorted((root / folder).rglob("*")):
        if path.is_file() and not set(path.parts) & set(GENERATED):
            yield PurePosixPath(path.relative_to(root)).as_posix()


def _names(archive: Path) -> set[str]:
    with zipfile.ZipFile(archive) as file:
        return set(file.namelist())


def _contents(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def _imports(path: Path) -> set[str]:
    """Top-level names of what a module imports."""
    if path.suffix != ".py":
        return set()
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _project_name(need: str) -> str:
    return re.split(r"[^A-Za-z0-9_.-]", need)[0].lower()
