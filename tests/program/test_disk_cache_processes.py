"""Processes that share a disk cache; deterministic ones are equal to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = textwrap.dedent(
    """
    import hashlib, json, sys
    import numpy as np
    import executorkit as mx

    folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random = np.random.RandomState(0)
    batches = [
        mx.io.DataBatch([mx.nd.array(random.randn(8, 12))], [mx.nd.array(random.randint(0, 4, 8))])
        for _ in range(8)
    ]

    def network():
        x = mx.sym.Variable("data")
        for i in range(2):
            x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=16, name=f"fc{i}"), "tanh")
        x = mx.sym.FullyConnected(mx.sym.Dropout(x, p=0.3), num_hidden=4, name="out")
        return mx.sym.SoftmaxOutput(x, name="softmax")

    def trained():
        if first:
            module = mx.mod.Module.load(f"{folder}/net", first, load_optimizer_states=True)
        else:
            module = mx.mod.Module(network())
        module.bind([("data", (8, 12))], [("softmax_label", (8,))])
        mx.random.seed(7)
        if not first:
            module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="adam")
        for number in range(first, last):
            mx.random.seed(number)
            module.forward_backward(batches[number])
            module.update()
        module.save_checkpoint(f"{folder}/net", last, save_optimizer_states=True)
        weights = module.get_params()[0]
        digest = hashlib.md5()
        for name in sorted(weights):
            digest.update(weights[name].asnumpy().tobytes())
        return digest.hexdigest(), answers(weights)

    def answers(weights):
        shapes = {"data": (8, 12), "softmax_label": (8,)}
        executor = network().simple_bind(mx.cpu(), "null", **shapes)
        executor.copy_params_from(weights)
        digest = hashlib.md5()
        for batch in batches:
            digest.update(executor.forward(data=batch.data[0])[0].asnumpy().tobytes())
        return digest.hexdigest()

    results = [trained()]
    if not first:
        results.append(trained())
    print(json.dumps([results, mx.program.cache_info().loads]))
    """
)


@pytest.mark.usefixtures("automatic")
def test_deterministic_results_do_not_depend_on_what_is_in_the_cache(tmp_path):
    """A cold training, a second one from a filled cache, a resumed and a repeated one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    environment["EXECUTORKIT_DETERMINISTIC"] = "1"

    def start(first, last, cache):
        folder = tmp_path / f"files of {cache}"
        folder.mkdir(exist_ok=True)
        directory = str(tmp_path / cache) if cache else ""
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folder), str(first), str(last)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**environment, "EXECUTORKIT_CACHE_DIR": directory},
        )  # fmt: skip

    def results(process):
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err[-3000:]
        assert err == ""
        return json.loads(out.splitlines()[-1])

    without, empty = map(results, [start(0, 8, ""), start(0, 8, "cache")])
    filled, half = map(results, [start(0, 8, "cache"), start(0, 3, "cache")])
    resumed = results(start(3, 8, "cache"))
    once, again = without[0]
    assert once == again
    assert empty[0] == filled[0] == without[0]
    assert resumed[0] == [once]
    assert half[0][0] != once
    assert (without[1], empty[1]) == (0, 0)
    assert filled[1] >= 2
    assert resumed[1] >= 2


def fill(folder, kills, processes, seed):
    """The report of processes that fill a cache and are killed: ``_tools/cache_filling.py``."""
    command = [sys.executable, "-m", "tests._tools.cache_filling", str(folder / "cache")]
    numbers = map(str, (kills, processes, seed))
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [*command, *numbers], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_killed_processes_leave_neither_damage_nor_temporary_files(tmp_path):
    report = fill(tmp_path, 12, 4, 0)
    assert report["kills"] == 12
    assert report["problems"] == ""
    assert report["damaged"] == report["left"] == []
    assert report["programs"] > 0
    assert report["bytes"] <= 24 * 4096
