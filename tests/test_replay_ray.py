"""The same folder on a local Ray: the same rows, page and Parquet. Collected only where Ray is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import cli_kit as kit
import pyarrow.parquet
import pytest
import ray
from click.testing import CliRunner
from many_kit import TASK, deadly, folder_of

from compactor.cli.app import cli
from compactor.cli.many import items_of
from compactor.replay.cluster import on_ray
from compactor.replay.many import one_by_one

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # those of Ray and what it brings along
    pytest.mark.xdist_group("ray"),  # so that one Ray is started and not one a worker
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Also one whose name is no UTF-8."""
    made = folder_of(tmp_path_factory.mktemp("many") / "talks", 20)
    (made / "019.json").rename(made / "\udcff.json")
    return made


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One Ray for all tests: the first that needs it starts it, as the command does."""
    paths = os.pathsep.join((str(kit.ROOT), str(Path(__file__).parent)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)
        yield
        ray.shutdown()


def test_results_do_not_depend_on_the_engine(folder: Path, tmp_path: Path) -> None:
    made = {}
    for engine in ("local", "ray"):
        page, table = tmp_path / f"{engine}.html", tmp_path / engine / "rows.parquet"
        done = CliRunner().invoke(
            cli,
            [
                *("replay", f"file://{folder}", "--engine", engine, "--json", "-q", "--requests"),
                *("--html", str(page), "--parquet", f"file://{table}"),
            ],
        )
        assert (done.exit_code, done.stderr) == (0, "")
        made[engine] = (done.stdout, page.read_bytes(), table.read_bytes())
    assert made["local"] == made["ray"]
    rows = json.loads(made["ray"][0])["files"]
    stored = pyarrow.parquet.read_table(tmp_path / "ray" / "rows.parquet").to_pylist()
    assert len(rows) == len(stored) == 20 * 3 + 1
    for row, kept in zip(rows, stored, strict=True):
        assert kept["error_code"] == row.get("error", {}).get("code")
        assert kept.pop("file") == row.pop("file").replace("\udcff", r"\udcff")
        fields = set(row) - {"error", "findings"}
        assert {name: kept[name] for name in fields} == {name: row[name] for name in fields}


def test_a_worker_that_dies_takes_only_its_own_file(folder: Path) -> None:
    items = items_of([str(folder)])[:6]
    found = sorted(on_ray(TASK, items, deadly), key=lambda done: done.index)
    assert [done.failure.code for done in found if done.failure] == ["internal.worker"]
    kept = [done for done in found if not done.failure]
    assert kept == [done for done in one_by_one(TASK, items) if done.index != 2]


def test_a_ray_that_does_not_answer_is_one_line(folder: Path) -> None:
    nobody = {"RAY_ADDRESS": "127.0.0.1:1"}
    done = kit.compactor("replay", folder, "--engine", "ray", env=nobody)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: 127.0.0.1:1: Ray cannot do this work: ")
    assert done.stderr.count(b"\n") == 1
