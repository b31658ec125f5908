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
from many_kit import TASK, deadly, folder_of

from compactor.cli.many import items_of
from compactor.replay.cluster import on_ray
from compactor.replay.many import one_by_one

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray and what it brings along


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("many") / "talks", 180)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    paths = os.pathsep.join((str(kit.ROOT), str(Path(__file__).parent)))
    environment = {"env_vars": {"PYTHONPATH": paths}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    yield
    ray.shutdown()


def test_results_do_not_depend_on_the_engine(folder: Path, tmp_path: Path) -> None:
    made = {}
    for engine in ("local", "ray"):
        page, table = tmp_path / f"{engine}.html", tmp_path / engine / "rows.parquet"
        done = kit.compactor(
            *("replay", folder, "--engine", engine, "--json", "-q", "--requests"),
            *("--html", page, "--parquet", f"file://{table}"),
        )
        assert done.returncode == 0, done.stderr
        made[engine] = (done.stdout, page.read_bytes(), table.read_bytes())
    assert made["local"] == made["ray"]
    rows = json.loads(made["ray"][0])["files"]
    stored = pyarrow.parquet.read_table(tmp_path / "ray" / "rows.parquet").to_pylist()
    assert len(rows) == len(stored) == 180 * 3 + 1
    for row, kept in zip(rows, stored, strict=True):
        assert kept["error_code"] == row.get("error", {}).get("code")
        fields = set(row) - {"error", "findings"}
        assert {name: kept[name] for name in fields} == {name: row[name] for name in fields}


def test_a_folder_can_be_a_url(folder: Path) -> None:
    command = ("replay", "--policy", "none", "--json", "-q")
    by_path = json.loads(kit.compactor(*command, folder).stdout)["files"]
    by_url = json.loads(kit.compactor(*command, f"file://{folder}", "--engine", "ray").stdout)
    there = [row | {"file": f"file://{row['file']}"} for row in by_path]
    without = [row | {"error": None} if "error" in row else row for row in there]
    assert [row | {"error": None} if "error" in row else row for row in by_url["files"]] == without


def test_a_url_that_leads_nowhere_is_one_line(tmp_path: Path) -> None:
    for url in (f"file://{tmp_path}/missing.json", "nothing://bucket/x"):
        done = kit.compactor("replay", url)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.count(b"\n") == 1


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_dies_takes_only_its_own_file(folder: Path) -> None:
    items = items_of([str(folder)])[:12]
    found = sorted(on_ray(TASK, items, deadly), key=lambda done: done.index)
    assert [done.failure.code for done in found if done.failure] == ["internal.worker"]
    kept = [done for done in found if not done.failure]
    assert kept == [done for done in one_by_one(TASK, items) if done.index != 2]
