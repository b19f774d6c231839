"""The disk cache: executables are found by what they compute, never instead of another."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import textwrap

import jax
import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit.errors import NotFingerprintableError
from executorkit.program import _first_calls, _program, cache_info, clear_cache
from executorkit.program._background_tasks import join_workers
from executorkit.program._compiled_function import CompiledFunction
from executorkit.program.disk_cache.cached_jit import CachedExecutable, CachedJit
from executorkit.program.disk_cache.fingerprint import environment_fingerprint, fingerprint
from executorkit.program.disk_cache.store import DiskCache
from executorkit.program.disk_cache.switch import set_disk_cache

x = mx.sym.Variable("x")


@pytest.fixture
def new_process(tmp_path, jax_cache):
    """``new_process(make)`` makes a result as a process would that begins with the present files,
    and returns it with the number of traces and of loaded executables."""
    set_disk_cache(DiskCache(tmp_path / "own"))

    def run(make):
        clear_cache()
        before = cache_info()
        result = make()
        join_workers()
        after = cache_info()
        return result, after.traces - before.traces, after.loads - before.loads

    jax_cache(None)
    yield run
    set_disk_cache(None)
    clear_cache()


pytestmark = pytest.mark.usefixtures("compiled")


def programs(directory):
    """The files of executables in a directory."""
    return sorted(directory.glob("*.program"))


def value(symbol, train=False, ctx=None, **arrays):
    shapes = {n: np.shape(a) for n, a in arrays.items()}
    executor = symbol.simple_bind(ctx or mx.cpu(), "null", **shapes)
    inputs = {n: mx.nd.array(a, ctx or mx.cpu()) for n, a in arrays.items()}
    return executor.forward(is_train=train, **inputs)[0].asnumpy().tolist()


def test_a_later_process_neither_traces_nor_lowers(tmp_path):
    script = textwrap.dedent(
        """
        import json, sys
        import executorkit as mx

        if len(sys.argv) > 1:
            mx.program.enable_disk_cache(sys.argv[1])
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.Dropout(net, p=0.5), name="softmax"))
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])
        mx.random.seed(0)
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer_params={"momentum": 0.9})
        batch = mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.array([0, 1, 2, 0])])
        for _ in range(2):
            module.forward_backward(batch)
            module.update()
        weight = module.get_params()[0]["fc_weight"].asnumpy().tolist()
        info = mx.program.cache_info()
        (trace,) = module.core.execs[0].program.explain()
        print(json.dumps([info.traces, info.loads, trace.loaded, weight]))
        """
    )
    run = [sys.executable, "-c", script]
    folder, environment = str(tmp_path / "named"), dict(os.environ)
    by_default = {**environment, "XDG_CACHE_HOME": str(tmp_path)}
    del by_default["EXECUTORKIT_CACHE_DIR"]
    processes = (
        (run, by_default),
        (run, by_default),
        ([*run, folder], environment),
        (run, {**environment, "EXECUTORKIT_CACHE_DIR": folder}),
        (run, environment),
    )
    results = [
        json.loads(subprocess.run(args, capture_output=True, check=True, env=variables).stdout)
        for args, variables in processes
    ]
    loads = [result[:3] for result in results]
    compiled, loaded = [1, 0, False], [0, 1, True]
    assert loads == [compiled, loaded, compiled, loaded, compiled]
    assert all(result[3] == results[0][3] for result in results)


def first_calls():
    """Results of the first calls of inference in two stages and of training, as bytes."""
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, no_bias=True, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="norm"), act_type="relu")
    net = mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.5), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    shapes = {"data": (2, 3, 8, 8), "softmax_label": (2,)}
    images = mx.nd.array(np.random.RandomState(0).rand(2, 3, 8, 8))
    results = []
    with mx.program.options(prepare=True):
        executor = net.simple_bind(mx.cpu(), "null", **shapes)
    for k, array in enumerate(executor.arg_arrays):
        array[:] = 0.1 * k
    for array in executor.aux_arrays:
        array[:] = 1
    for _ in range(2):
        results += executor.forward(is_train=False, data=images)
    module = mx.mod.Module(net)
    module.bind([("data", shapes["data"])], [("softmax_label", (2,))])
    mx.random.seed(0)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"momentum": 0.9})
    for _ in range(2):
        module.forward_backward(mx.io.DataBatch([images], [mx.nd.array([0, 1])]))
        module.update()
    results += module.get_params()[0].values()
    return [r.asnumpy().tobytes() for r in results], executor.program.prepared_bytes


def test_first_calls_of_a_later_process_are_interpreted_without_a_trace(
    new_process, monkeypatch, tmp_path
):
    monkeypatch.delenv("EXECUTORKIT_INTERPRET", raising=False)
    results, traces, loads = new_process(first_calls)
    # The stages of inference are traced together, as no program of their own.
    assert (traces, loads) == (1, 0)
    assert new_process(first_calls)[:2] == (results, 0)
    jaxprs = list((tmp_path / "own").glob("*.jaxpr"))
    assert len(jaxprs) == 3
    for file in jaxprs:
        file.write_bytes(file.read_bytes()[:-1])
    assert new_process(first_calls)[:2] == (results, 1)
    assert new_process(first_calls)[:2] == (results, 0)


def test_a_trace_for_any_sizes_serves_later_processes(new_process, monkeypatch, tmp_path):
    """Where sizes are compared otherwise than in the stored trace, it is not used."""
    monkeypatch.delenv("EXECUTORKIT_INTERPRET", raising=False)
    pooled = mx.sym.Pooling(
        mx.sym.FullyConnected(x, num_hidden=12, flatten=False, name="fc").reshape((0, 1, -1, 4)),
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=False,
    )  # fmt: skip
    symbol = mx.sym.broadcast_add(pooled, mx.sym.max(pooled, axis=2, keepdims=True))

    def calls(*sizes):
        results = []
        for size in sizes:
            executor = symbol.simple_bind(mx.cpu(), x=(2, size, 5))
            for k, array in enumerate(executor.arg_arrays):
                array[:] = np.sin(np.arange(array.size) + k).reshape(array.shape)
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones(executor.outputs[0].shape))
            arrays = [*executor.outputs, *executor.grad_arrays]
            results.append([a.asnumpy().tobytes() for a in arrays])
        return results

    sizes = 4, 6, 9, 7, 3
    results, traces, _ = new_process(lambda: calls(*sizes))
    assert traces > 1
    assert new_process(lambda: calls(*sizes)) == (results, 0, 0)
    others = 4, 11, 3, 2
    expected = new_process(lambda: calls(*others))[0]
    for file in (tmp_path / "own").glob("*.jaxpr"):
        file.unlink()
    assert new_process(lambda: calls(*others))[0] == expected


def test_a_program_that_takes_over_at_once_is_interpreted_once(
    new_process, compilations, monkeypatch, tmp_path
):
    """One that is on disk is loaded at the same call; at the first one where its plan is gone."""
    monkeypatch.delenv("EXECUTORKIT_INTERPRET", raising=False)
    monkeypatch.setattr(_first_calls, "_TAKE_OVER_AT", 2)

    def calls():
        executor = mx.sym.Activation(x * 3, act_type="tanh").simple_bind(mx.cpu(), "null", x=(9,))
        executor.arg_dict["x"][:] = np.linspace(-1, 1, 9)
        loads, counts, results = cache_info().loads, [], []
        for _ in range(3):
            results.append(executor.forward()[0].asnumpy().tobytes())
            join_workers()
            counts.append((compilations.count("infer"), cache_info().loads - loads))
        return results, counts

    (results, counts), traces, _ = new_process(calls)
    assert traces == 1
    assert counts == [(0, 0), (1, 0), (1, 0)]
    compilations.clear()
    (again, counts), traces, _ = new_process(calls)
    assert again == results
    assert traces == 0
    assert counts == [(0, 0), (0, 1), (0, 1)]
    for file in (tmp_path / "own").glob("*.jaxpr"):
        file.unlink()
    (again, counts), traces, _ = new_process(calls)
    assert again == [results[-1]] * 3
    assert traces == 0
    assert counts == [(0, 1)] * 3


def test_a_program_without_equations_is_loaded_by_a_later_process(new_process, monkeypatch):
    monkeypatch.delenv("EXECUTORKIT_INTERPRET", raising=False)

    def calls():
        executor = mx.sym.identity(x).simple_bind(mx.cpu(), "null", x=(2,))
        executor.arg_dict["x"][:] = [3, 4]
        results = [executor.forward()[0].asnumpy().tolist() for _ in range(60)]
        join_workers()
        return results

    results, traces, loads = new_process(calls)
    assert (results, traces, loads) == ([[3, 4]] * 60, 1, 0)
    assert new_process(calls) == (results, 0, 1)


def test_gradients_are_those_of_the_stored_executable(new_process):
    def gradient():
        net = mx.sym.sum(mx.sym.Activation(x * 3, act_type="tanh"))
        executor = mx.sym.MakeLoss(net).simple_bind(mx.cpu(), grad_req="add", x=(4,))
        executor.arg_dict["x"][:] = [0.1, 0.2, 0.3, 0.4]
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward()
        (trace,) = executor.program.explain()
        return executor.grad_dict["x"].asnumpy().tolist(), executor.program.memory(), trace.why

    (first, memory, why), *counts = new_process(gradient)
    assert counts == [1, 0]
    (second, same_memory, loaded), *counts = new_process(gradient)
    assert counts == [0, 1]
    assert first == second
    assert memory == same_memory
    assert loaded == f"{why} (loaded from the disk cache)"


def test_every_shape_has_its_executable_and_returns_to_it(new_process):
    def values():
        executor = (x * 2).simple_bind(mx.cpu(), "null", x=(4,))
        sizes = 3, 2, 3
        return [
            executor.reshape(x=(n,)).forward(x=mx.nd.ones(n))[0].asnumpy().tolist() for n in sizes
        ]

    first, *counts = new_process(values)
    assert counts == [2, 0]
    second, *counts = new_process(values)
    assert counts == [0, 2]
    assert first == second == [[2.0] * n for n in (3, 2, 3)]


def test_executables_of_a_known_shape_are_looked_for_once(new_process, monkeypatch):
    asked = []
    prefetch = CompiledFunction.prefetch
    monkeypatch.setattr(_program, "_LARGE_STEPS", 1)
    monkeypatch.setattr(
        CompiledFunction,
        "prefetch",
        lambda self, *a: asked.append(a[0][0].shape) or prefetch(self, *a),
    )

    def reshape():
        executor = (x * 2).simple_bind(mx.cpu(), "null", x=(4,))
        for n in (3, 4, 3, 4):
            executor = executor.reshape(allow_up_sizing=True, x=(n,))
            executor.forward()[0].wait_to_read()

    new_process(reshape)
    assert asked == [(4,), (3,)]
    new_process(reshape)
    assert asked == [(4,), (3,)] * 2


def test_steps_of_optax_are_stored_unless_they_contain_functions_of_the_user(new_process):
    def trained(transformation):
        executor = mx.sym.MakeLoss(mx.sym.sum(mx.sym.square(x - 1))).simple_bind(mx.cpu(), x=(3,))
        step = mx.training.Step(executor, transformation, inputs=())
        step()
        step()
        return executor.arg_dict["x"].asnumpy().tolist()

    slow, *counts = new_process(lambda: trained(optax.adam(0.1)))
    assert counts == [1, 0]
    fast, traces, _ = new_process(lambda: trained(optax.adam(0.2)))
    assert traces == 1
    assert fast != slow
    assert new_process(lambda: trained(optax.adam(0.1)))[:2] == (slow, 0)
    user_defined = optax.adam(lambda count: 0.1)
    assert (
        new_process(lambda: trained(user_defined))[1]
        == new_process(lambda: trained(user_defined))[1]
        == 1
    )


@pytest.mark.parametrize(
    "other",
    [
        lambda: value(x * 3, x=[1.0, 2.0]),
        lambda: value(x * 2, train=True, x=[1.0, 2.0]),
        lambda: value(x * 2, ctx=mx.cpu(1), x=[1.0, 2.0]),
        lambda: value(mx.sym.cast(x, "float64") * 2, x=[1.0, 2.0]),
    ],
    ids=["attribute", "mode", "device", "operator"],
)
def test_a_different_computation_is_another_executable(new_process, other):
    new_process(lambda: value(x * 2, x=[1.0, 2.0]))
    expected, traces, _ = new_process(other)
    assert traces == 1
    assert new_process(other)[:2] == (expected, 0)


def test_devices_and_settings_have_fingerprints_of_their_own():
    device = jax.devices()[0]
    assert environment_fingerprint(device) == environment_fingerprint(device)
    texts = {environment_fingerprint(device), environment_fingerprint(jax.devices()[1])}
    with jax.default_matmul_precision("highest"):
        texts.add(environment_fingerprint(device))
    with jax.enable_x64(True):
        texts.add(environment_fingerprint(device))
    assert len(texts) == 4


def test_a_file_that_is_gone_is_written_anew_though_jax_has_the_program(
    new_process, tmp_path, jax_cache
):
    def result():
        return value(x * 5, x=[1.0])

    jax_cache(str(tmp_path / "jax"))
    new_process(result)
    (file,) = programs(tmp_path / "own")
    file.unlink()
    processes = [new_process(result) for _ in range(3)]
    assert [values for values, *_ in processes] == [[5.0]] * 3
    assert processes[2][1:] == (0, 1)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"?" + b, lambda b: b""])
def test_a_damaged_file_is_written_anew(new_process, tmp_path, damage):
    def result():
        return value(x * 2, x=[1.0])

    new_process(result)
    (file,) = programs(tmp_path / "own")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert new_process(result) == ([2.0], 1, 0)
    assert file.read_bytes()[:20] == whole[:20]
    assert new_process(result) == ([2.0], 0, 1)


def test_calls_that_lowering_prepares_are_not_stored(new_process, tmp_path):
    def factor():
        return value(mx.sym.linalg.potrf(mx.sym.Variable("a")), a=[[[4.0]]])

    assert new_process(factor) == ([[[2.0]]], 1, 0)
    assert new_process(factor) == ([[[2.0]]], 1, 0)
    assert not programs(tmp_path / "own")


@pytest.mark.usefixtures("new_process")
def test_an_error_of_the_only_executable_is_raised_unless_it_refuses_the_shapes(monkeypatch):
    calls = []

    class Executable:
        def __init__(self, args):
            (self.only,) = args

        def load(self):
            return self

        def memory_analysis(self):
            return None

        def __call__(self, array):
            calls.append(array.shape)
            if array.shape != self.only.shape or np.isnan(array).any():
                raise TypeError("refused")
            return array

    monkeypatch.setattr(CachedExecutable, "of", lambda text, compiled, args, _: Executable(args))
    cached = CachedJit(jax.jit(lambda a: a), lambda: "", (), lambda: None, check=lambda: None)
    numbers, bad, others = jax.numpy.ones(2), jax.numpy.array([1, np.nan]), jax.numpy.ones(3)
    cached.run(numbers)
    with pytest.raises(TypeError, match="refused"):
        cached.run(bad)
    assert calls == [(2,), (2,)]
    cached.run(others)
    assert calls == [(2,), (2,), (3,), (3,)]
    cached.run(others)
    assert calls == [(2,), (2,), (3,), (3,), (3,)]


def test_a_plain_and_a_hybridized_network_share_their_program(new_process):
    def step(hybridized):
        net = mx.gluon.nn.HybridSequential(prefix="")
        net.add(mx.gluon.nn.Dense(4, in_units=3), mx.gluon.nn.BatchNorm(in_channels=4))
        net.initialize(mx.init.One())
        if hybridized:
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
        with mx.autograd.record():
            loss = net(mx.nd.ones((2, 3))).sum()
        loss.backward()
        trainer.step(2)
        mx.nd.waitall()

    assert new_process(lambda: step(False))[1:] == (1, 0)
    assert new_process(lambda: step(True))[1:] == (0, 1)


def test_settings_that_change_between_calls_mean_other_programs(new_process):
    def products():
        net = mx.sym.dot(mx.sym.Variable("a"), mx.sym.Variable("b"))
        executor = net.simple_bind(mx.cpu(), "null", a=(2, 2), b=(2, 2))
        for precision in (None, "highest", None):
            with jax.default_matmul_precision(precision):
                executor.forward()[0].asnumpy()

    assert new_process(products)[1:] == (2, 0)
    assert new_process(products)[1:] == (0, 2)


def test_fingerprints_of_different_values_differ():
    values = [
        1, 1.0, True, "1", b"1", None, (1,), [1], ((1,),), {1}, {1: 1}, np.float32(1),
        np.dtype("f4"), np.arange(2), np.arange(2.0), jax.numpy.float32, mx.program.Options(),
        mx.program.Options(remat="full"), functools.partial(fingerprint, 1),
        functools.partial(fingerprint, 2),
    ]  # fmt: skip
    assert len(set(map(fingerprint, values))) == len(values)
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


@pytest.mark.parametrize("thing", [object(), lambda: 0, functools.partial(print), np.zeros(10_000)])
def test_values_without_a_fingerprint_are_refused(thing):
    with pytest.raises(NotFingerprintableError):
        fingerprint((thing,))
