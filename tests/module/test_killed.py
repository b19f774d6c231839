"""A process that is killed while it saves a checkpoint leaves whole files behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import executorkit as mx

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]


class Kill(NamedTuple):
    """The epoch that was being saved, and where the process ended: in which file, and when."""

    epoch: int
    file: str
    moment: str


KILLS = [
    Kill(2, "params", "write"),
    Kill(2, "params", "move"),
    Kill(2, "states", "write"),
    Kill(2, "symbol", "move"),
    Kill(1, "params", "move"),
    Kill(1, "states", "write"),
]


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> dict[Kill, tuple[Path, int, dict[str, bytes]]]:
    """By kill: the folder that is left, how the process ended, and the files that it left."""
    folder = tmp_path_factory.mktemp("killed")
    worker = str(Path(__file__).parent / "checkpoint_worker.py")
    done = subprocess.run(
        [sys.executable, worker, str(folder), *map(_told, KILLS)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, text=True, check=True, timeout=120,
    )  # fmt: skip
    folders = [folder / str(number) for number in range(len(KILLS))]
    ends = zip(KILLS, folders, json.loads(done.stdout), strict=True)
    return {kill: (place, code, _files(place)) for kill, place, code in ends}


def _told(kill: Kill) -> str:
    return " ".join(map(str, kill))


def _files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.mark.parametrize("kill", KILLS, ids=_told)
def test_files_are_whole_wherever_saving_ends(killed, kill):
    folder, code, left = killed[kill]
    assert code == -(signal.SIGXFSZ if kill.moment == "write" else signal.SIGKILL)
    first, second = (_files(f) for f in (folder / "first", folder / "second"))
    unfinished = [n for n in left if n.endswith(".tmp")]
    assert len(unfinished) == 1
    assert kill.file in unfinished[0]
    if kill.moment == "write":
        assert len(left[unfinished[0]]) == 100
    if kill.epoch == 2:
        assert {n: left[n] for n in first} == first
    for name in set(left) - set(unfinished):
        assert left[name] in (first.get(name), second.get(name))


@pytest.mark.parametrize("kill", [k for k in KILLS if k.epoch == 2], ids=_told)
def test_training_goes_on_from_the_checkpoint_before(killed, kill):
    folder, *_ = killed[kill]
    module = mx.mod.Module.load(str(folder / "net"), 1, load_optimizer_states=True)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_optimizer(optimizer="adam")
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.arange(4)]))
    module.update()
    _, expected, _ = mx.model.load_checkpoint(str(folder / "second" / "net"), 2)
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), expected[name].asnumpy())


@pytest.mark.parametrize("kill", KILLS, ids=_told)
def test_the_next_save_of_the_same_name_removes_what_is_left(killed, kill, tmp_path):
    _, _, left = killed[kill]
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)
    (name,) = (n for n in left if n.endswith(".tmp"))
    if kill.file == "symbol":
        mx.sym.Variable("data").save(str(tmp_path / "net-symbol.json"))
    else:
        mx.nd.save(str(tmp_path / f"net-000{kill.epoch}.{kill.file}"), [])
    assert set(_files(tmp_path)) == set(left) - {name} | {
        name.partition(".tmp")[0].rpartition(".")[0]
    }
