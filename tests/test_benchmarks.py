"""The benchmarks run, on tiny sizes. What they measure is for people to read."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_prints_its_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--tiny"])
    title, *rows = capsys.readouterr().out.rstrip().split("\n")
    assert title
    assert len(rows) >= 2
    assert all(row.startswith("  ") for row in rows)


def test_an_unknown_benchmark_is_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["no-such-benchmark"])
