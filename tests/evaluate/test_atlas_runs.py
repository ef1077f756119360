"""A map that is killed, refused, parallel: what lies in its folder."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from kvteach import cli, models
from kvteach import shards
from kvteach.evaluate.atlas import measure, plan

SMALL = [
    "--documents",
    "8",
    "--tokens",
    "160",
    "--positions",
    "2",
    "--budgets",
    "4",
    "8",
    "32",
]


@pytest.fixture(scope="module")
def tiny(save_reader, tmp_path_factory):
    """A folder with a random model of two layers that reads real tokens."""
    return save_reader(tmp_path_factory.mktemp("models") / "tiny", layers=2)


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory):
    """The folder of a map that ran through in this process."""
    folder = tmp_path_factory.mktemp("maps") / "whole"
    assert cli.main(["map", str(folder), "--model", str(tiny), *SMALL]) == 0
    return folder


def rows(folder):
    return (folder / "rows.parquet").read_bytes()


def test_a_map_holds_every_row_once(whole):
    table = pq.read_table(whole / "rows.parquet")
    where = ["document", "layer", "head", "position", "budget"]
    assert table.num_rows == 8 * 2 * 4 * 2 * 3
    assert table.group_by(where).aggregate([]).num_rows == table.num_rows
    assert set(table["budget"].to_pylist()) == {4, 8, 32}
    assert min(table["position"].to_pylist()) >= 80
    assert table.schema.metadata is None  # seconds and machines are in the summary only
    summary = json.loads((whole / "summary.json").read_text())
    assert len(summary["took"]["per_document"]) == 8
    assert [len(text["sha256"]) for text in summary["plan"]["texts"]] == [64] * 8
    assert "## Table 8" in (whole / "summary.md").read_text()


def test_killed_and_started_again_it_gives_the_same_file(whole, tiny, tmp_path):
    folder = tmp_path / "killed"
    command = [
        sys.executable,
        "-m",
        "kvteach.cli",
        "map",
        str(folder),
        "--model",
        str(tiny),
    ]
    child = subprocess.Popen([*command, *SMALL], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: list(folder.glob("rows/*.parquet")), child)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    kept = sorted(folder.glob("rows/*.parquet"))
    assert 1 <= len(kept) < 8 and not (folder / "rows.parquet").exists()
    for path in kept:
        pq.read_table(path)
    (folder / "rows" / ".07.parquet.99").write_bytes(b"half a shard")
    written = {path: path.stat().st_mtime_ns for path in kept}
    done = subprocess.run([*command, *SMALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(kept)} of 8 documents are there already" in done.stderr
    assert rows(folder) == rows(whole)
    assert {path: path.stat().st_mtime_ns for path in kept} == written
    assert len(list((folder / "rows").iterdir())) == 8  # the half shard is gone


def wait_for(condition, child, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert child.poll() is None, child.stderr.read()
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.005)


def test_interrupted_it_says_so_and_leaves_whole_shards(
    tiny, tmp_path, monkeypatch, capsys
):
    measured = measure.measure

    def interrupted(plan, index):
        if index == 2:
            raise KeyboardInterrupt
        return measured(plan, index)

    monkeypatch.setattr(measure, "measure", interrupted)
    assert cli.main(["map", str(tmp_path / "map"), "--model", str(tiny), *SMALL]) == 130
    assert "the same command continues" in capsys.readouterr().err
    assert sorted(p.name for p in (tmp_path / "map" / "rows").iterdir()) == [
        "00.parquet",
        "01.parquet",
    ]


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_others_may_work(whole, tiny, tmp_path, backend):
    """Two processes of this machine, or a Dask cluster, give the same bytes."""
    loaded = models.load(str(tiny), device="cpu")
    wanted = plan.make_plan(loaded, 8, 160, 2, (4, 8, 32))
    lines = []
    if backend == "loky":
        measure.measure_rows(tmp_path / "map", wanted, jobs=2, say=lines.append)
    else:
        distributed = pytest.importorskip("distributed")
        import joblib

        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
            joblib.parallel_config("dask"),
        ):
            measure.measure_rows(tmp_path / "map", wanted, say=lines.append)
    assert rows(tmp_path / "map") == rows(whole)
    assert len(lines) == 8 and lines[-1].startswith("document 8 of 8: 48 records")


def test_another_plan_is_refused(whole, tiny, capsys):
    before = {path: path.stat().st_mtime_ns for path in whole.iterdir()}
    other = ["map", str(whole), "--model", str(tiny), *SMALL, "--seed", "1"]
    assert cli.main(other) == 1
    said = capsys.readouterr().err
    assert "holds another map: seed 0, asked for 1; choose another folder" in said
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == before


def test_a_folder_of_other_things_is_refused(tiny, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("mine")
    assert cli.main(["map", str(tmp_path), "--model", str(tiny), *SMALL]) == 1
    assert "holds no map; choose a new or an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--documents", "1"],
            "documents: 1; intervals over documents need at least 2",
        ),
        (["--budgets", "8", "8"], r"budgets: \[8, 8\]; need distinct numbers"),
        (["--budgets", "0"], r"budgets: \[0\]"),
        (
            ["--tokens", "559"],
            "tokens: 559; rows of the second half must hold 280 keys",
        ),
        (["--positions", "0"], "positions: 0 is outside 1 .. 512"),
        (["--positions", "513"], "positions: 513"),
        (["--seed", "-1"], "seed: -1 is negative"),
        (["--jobs", "0"], "jobs: 0 is nobody"),
        (["--certify", "-1"], "certify: -1 is negative"),
        (["--certify", "5", "--budgets", "64"], "certify: needs a budget up to 32"),
        (["--cross-entropy", "2", "--budgets", "4"], "cross_entropy: needs budget 8"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_written(
    arguments, words, tmp_path, capsys
):
    assert cli.main(["map", str(tmp_path / "map"), *arguments]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert re.search(words, said)
    assert not (tmp_path / "map").exists()


def test_what_this_machine_lacks_is_named(tiny, tmp_path, capsys):
    out = str(tmp_path / "map")
    assert cli.main(["map", out, "--model", "no/such-model"]) == 1
    assert "No model 'no/such-model'" in capsys.readouterr().err
    assert cli.main(["map", out, "--model", str(tiny), "--tokens", "600"]) == 1
    assert "tokens: 600;" in capsys.readouterr().err
    many = [*SMALL, "--documents", "3000"]
    assert cli.main(["map", out, "--model", str(tiny), *many]) == 1
    assert "documents: 3000; only" in capsys.readouterr().err
    assert not (tmp_path / "map").exists()


def test_a_changed_text_is_noticed(bundled):
    [text] = plan.choose_texts(bundled.tokenizer, 1, 160, seed=0)
    assert len(plan.tokens_of(text, bundled.tokenizer, 160)) == 160
    with pytest.raises(plan.PlanError, match="is not the text on this machine"):
        plan.tokens_of(text, bundled.tokenizer, 161)


def test_half_files_never_have_the_name(tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    monkeypatch.setattr(shards.os, "replace", lambda *_: (_ for _ in ()).throw(OSError))
    with pytest.raises(OSError):
        shards.write_whole(target, b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
