"""Mapped programs: sums over devices, and sharing by groups of equal graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import executorkit as mx
from executorkit.lowering import graph_of
from executorkit.parallel import all_reduce
from executorkit.parallel._pmap_executor import PmapFunction, PmapProgram
from executorkit.parallel._replicas import Replicas
from executorkit.parallel._replicated_array import ReplicatedArray
from executorkit.program import program_for

DEVICES = tuple(mx.cpu(i).device for i in range(4))


def test_pmap_is_called_in_one_module():
    package = Path(mx.__file__).parent
    called = [
        p.relative_to(package).as_posix()
        for p in package.rglob("*.py")
        if "jax.pmap" in p.read_text() or "shard_map(" in p.read_text()
    ]
    assert called == ["parallel/_pmap_function.py"]


def test_the_same_devices_are_the_same_replicas_and_programs():
    x = mx.sym.Variable("x")
    one = program_for(graph_of((2 * x).heads), (0,))
    two = program_for(graph_of((2 * mx.sym.Variable("y")).heads), (0,))
    assert Replicas.on(DEVICES) is Replicas.on(list(DEVICES))
    assert PmapProgram.of(one, Replicas.on(DEVICES)) is PmapProgram.of(two, Replicas.on(DEVICES))
    other = PmapProgram.of(one, Replicas.on(DEVICES[:2]))
    assert other is not PmapProgram.of(one, Replicas.on(DEVICES))


def test_a_pmapped_function_counts_its_traces_and_can_be_cleared():
    replicas = Replicas.on(DEVICES)
    mapped = PmapFunction(lambda x: 2 * x, "twice", Replicas.on(DEVICES).mesh)
    x = replicas.filled((3,), "float32", 4)
    for _ in range(3):
        assert (np.asarray(mapped(x)) == 8).all()
    assert mapped.traces == 1
    assert mapped.seconds > 0
    mapped(replicas.filled((5,), "float32", 4))
    assert mapped.traces == 2
    mapped.clear()
    mapped(x)
    assert mapped.traces == 3


def test_64_bit_types_are_preserved():
    replicas = Replicas.on(DEVICES)
    mapped = PmapFunction(lambda x: x + 1, "next", Replicas.on(DEVICES).mesh)
    assert mapped(replicas.zeros((2,), "float64")).dtype == np.float64
    assert mapped(replicas.zeros((2,), "int64")).dtype == np.int64


def test_sums_and_means_over_devices():
    contexts = [mx.cpu(i) for i in range(4)]
    stacked = ReplicatedArray(contexts, (2,), "float32")
    separate = [mx.nd.zeros((2,), ctx=mx.cpu(0)) for _ in range(3)]
    for k, member in enumerate(stacked):
        member[:] = k
    for k, member in enumerate(separate):
        member[:] = k
    sums = all_reduce([stacked, separate])
    assert [[m.asnumpy().tolist() for m in s] for s in sums] == [[[6, 6]] * 4, [[3, 3]] * 3]
    means = all_reduce([stacked, separate], mean=True)
    assert [[m.asnumpy().tolist() for m in s] for s in means] == [[[1.5, 1.5]] * 4, [[1, 1]] * 3]
    assert stacked[3].asnumpy().tolist() == [3, 3]
    assert separate[2].asnumpy().tolist() == [2, 2]
    assert [m.context for m in sums[0]] == contexts
