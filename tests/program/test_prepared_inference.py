"""Inference in two stages: results, writes of weights, memory, and numbers of preparations."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.display import view_of
from executorkit.program._background_tasks import join_workers
from executorkit.program._prepared_inference import State

PREPARED = {"prepare": True, "interpret": False}
PLAIN = {"prepare": False, "interpret": False}


pytestmark = pytest.mark.usefixtures("fresh_programs")


def _fill(executor: Any, seed: int = 0) -> Any:
    """Random contents; variances are positive."""
    rng = np.random.default_rng(seed)
    arrays = {**executor.arg_dict, **executor.aux_dict}
    for name in sorted(arrays):
        contents = rng.standard_normal(arrays[name].shape) * 0.5
        arrays[name][:] = np.abs(contents) + 0.5 if name.endswith("var") else contents
    return executor


def _bind(
    net: Any, options: Mapping[str, Any], seed: int = 0, grad_req: str = "null", **shapes: Any
) -> Any:
    with mx.program.options(**options):
        return _fill(net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes), seed)


def _forward(executor: Any, data: Any) -> np.ndarray:
    return executor.forward(is_train=False, data=data)[0].asnumpy()


def _layers() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Layers with a normalisation behind each, and the shape of their data."""
    data = mx.sym.Variable("data")
    conv, full, deconv = mx.sym.Convolution, mx.sym.FullyConnected, mx.sym.Deconvolution
    bn: Any = mx.sym.BatchNorm
    bn_relu: Any = mx.sym.contrib.BatchNormWithReLU
    image, gamma = (2, 6, 7, 5), {"fix_gamma": False}
    return {
        "conv": (bn(conv(data, kernel=(3, 3), num_filter=4, no_bias=True), **gamma), image),
        "bias": (bn(conv(data, kernel=(3, 3), pad=(1, 1), num_filter=4)), image),
        "pointwise": (bn(conv(data, kernel=(1, 1), num_filter=4), **gamma), image),
        "strided": (bn(conv(data, kernel=(1, 1), stride=(2, 2), num_filter=4), **gamma), image),
        "depthwise": (bn(conv(data, kernel=(3, 3), num_filter=6, num_group=6), **gamma), image),
        "groups": (bn(conv(data, kernel=(3, 3), num_filter=4, num_group=2), **gamma), image),
        "dilated": (bn(conv(data, kernel=(3, 2), dilate=(2, 1), num_filter=4), **gamma), image),
        "covered": (bn(conv(data, kernel=(3, 5), num_filter=4), **gamma), image),
        "one axis": (bn(conv(data, kernel=(3,), num_filter=4), **gamma), (2, 6, 7)),
        "three axes": (bn(conv(data, kernel=(2, 2, 2), num_filter=4), **gamma), (1, 3, 4, 3, 2)),
        "statistics": (bn(conv(data, kernel=(3, 3), num_filter=4), use_global_stats=True), image),
        "old": (mx.sym.BatchNorm_v1(conv(data, kernel=(3, 3), num_filter=4), eps=1e-2), image),
        "other axis": (bn(conv(data, kernel=(3, 3), num_filter=4), axis=2, **gamma), image),
        "last axis": (bn(full(data, num_hidden=4, flatten=False), axis=-1, **gamma), (2, 3, 5)),
        "dense": (bn(full(data, num_hidden=4), **gamma), image),
        "dense without bias": (bn(full(data, num_hidden=4, no_bias=True)), (3, 5)),
        "transposed": (bn(deconv(data, kernel=(3, 3), num_filter=4), **gamma), image),
        "transposed groups": (
            bn(deconv(data, kernel=(2, 2), stride=(2, 2), num_filter=4, num_group=2)), image,
        ),
        "visible statistics": (
            bn(conv(data, kernel=(3, 3), num_filter=4), output_mean_var=True, **gamma), image,
        ),
        "rectified": (
            bn_relu(conv(data, kernel=(3, 3), num_filter=4), **gamma), image,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", _layers())
def test_prepared_results_are_those_of_the_whole_program(name: str) -> None:
    net, shape = _layers()[name]
    plain, prepared = (_bind(net, options, data=shape) for options in (PLAIN, PREPARED))
    rng = np.random.default_rng(1)
    for _ in range(3):
        data = rng.standard_normal(shape)
        expected = [x.asnumpy() for x in plain.forward(is_train=False, data=data)]
        outputs = [x.asnumpy() for x in prepared.forward(is_train=False, data=data)]
        for ours, theirs in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5 * np.abs(theirs).max())
        assert prepared.program.prepares == 1


def _net() -> Any:
    """A small network with branches: results with two readers are not folded."""
    data = mx.sym.Variable("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=8, name="c1")
    y = mx.sym.Activation(mx.sym.BatchNorm(x, name="b1"), act_type="relu")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="b2") + y
    x = mx.sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg")
    return mx.sym.softmax(mx.sym.FullyConnected(x, num_hidden=3, name="fc"))


SHAPE = (1, 3, 6, 6)


def _data(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SHAPE)


def _copy(source: Any, target: Any) -> None:
    target.copy_params_from(
        {n: a for n, a in source.arg_dict.items() if n != "data"}, source.aux_dict
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda e: e.arg_dict["c1_weight"].__setitem__(slice(None), 0.25),
        lambda e: e.arg_dict["fc_bias"].__setitem__(0, 2.0),
        lambda e: e.aux_dict["b2_moving_var"].__setitem__(slice(None), 3.0),
        lambda e: e.copy_params_from({"fc_weight": mx.nd.ones((3, 8)) / 7}),
        lambda e: e.arg_dict["c1_weight"][1:2].__imul__(2),
    ],
)
def test_a_written_parameter_is_seen_at_the_next_call(write: Any) -> None:
    plain, prepared = (_bind(_net(), options, data=SHAPE) for options in (PLAIN, PREPARED))
    for step in range(6):
        if step in (2, 5):
            write(plain)
            write(prepared)
        expected = _forward(plain, _data(step))
        np.testing.assert_allclose(_forward(prepared, _data(step)), expected, 1e-5, 1e-6)
    traces = prepared.program.traces
    _forward(prepared, _data())
    _forward(prepared, _data())
    assert prepared.program.traces == traces


def test_weights_that_change_at_every_call_are_not_prepared() -> None:
    executor = _bind(_net(), PREPARED, grad_req="write", data=SHAPE)
    for step in range(6):
        _fill(executor, step)
        _forward(executor, _data(step))
    assert executor.program.prepares == 0
    assert executor.program.traces == 1


def test_an_executor_without_gradients_never_runs_the_whole_program() -> None:
    executor = _bind(_net(), PREPARED, data=SHAPE)
    for step in range(6):
        _forward(executor, _data(step))
    names = {f.name for f in executor.program.functions if f.traces}
    assert names == {"prepare", "infer_prepared"}
    for step in range(6):
        _fill(executor, step)
        _forward(executor, _data(step))
    assert executor.program.prepares == 1
    assert executor.program.traces == 3


@pytest.mark.usefixtures("automatic")
def test_first_calls_without_gradients_have_one_plan() -> None:
    executor = _bind(_net(), {"prepare": True}, data=SHAPE)
    for step in range(60):
        _forward(executor, _data(step))
    compiled = [f.name for f in executor.program.functions if f.executables]
    assert compiled == ["infer_prepared"]


def test_a_weight_that_changes_at_every_call_counts_as_fed() -> None:
    plain, prepared = (_bind(_net(), options, data=SHAPE) for options in (PLAIN, PREPARED))
    for step in range(6):
        for executor in (plain, prepared):
            executor.arg_dict["c1_weight"][:] = 0.1 * step
        expected = _forward(plain, _data(step))
        np.testing.assert_allclose(_forward(prepared, _data(step)), expected, 1e-5, 1e-6)
    assert prepared.program.prepares == 1


def test_sets_of_little_use_need_more_calls() -> None:
    executor = _bind(_net(), PREPARED, data=SHAPE)
    counts = []
    for step in range(5):
        executor.arg_dict["c1_weight"][:] = 0.1 * step
        for _ in range(3):
            _forward(executor, _data())
        counts.append(executor.program.prepares)
    assert counts == [1, 1, 1, 1, 1]
    for _ in range(6):
        _forward(executor, _data())
    assert executor.program.prepares == 2


def test_data_is_recognised_by_what_changes() -> None:
    x = mx.sym.Variable("pixels")
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(x, num_hidden=4, name="fc"), fix_gamma=False)
    plain, prepared = (_bind(net, options, pixels=(2, 5)) for options in (PLAIN, PREPARED))
    rng = np.random.default_rng(0)
    for _ in range(6):
        data = rng.standard_normal((2, 5))
        outputs = []
        for executor in (plain, prepared):
            executor.arg_dict["pixels"][:] = data
            outputs.append(executor.forward(is_train=False)[0].asnumpy())
        np.testing.assert_allclose(outputs[1], outputs[0], 1e-5, 1e-6)
    assert prepared.program.prepares == 1


def test_executors_of_other_shapes_share_prepared_arrays() -> None:
    executor = _bind(_net(), PREPARED, data=SHAPE)
    for _ in range(2):
        _forward(executor, _data())
    larger = executor.reshape(allow_up_sizing=True, data=(2, 3, 6, 6))
    data = np.concatenate([_data(0), _data(1)])
    for _ in range(2):
        result = _forward(larger, data)
    assert executor.program.prepares == 1
    expected = _bind(_net(), PLAIN, data=(2, 3, 6, 6))
    _copy(executor, expected)
    np.testing.assert_allclose(result, _forward(expected, data), 1e-5, 1e-6)
    shared = _net().bind(mx.cpu(), executor.arg_arrays, aux_states=executor.aux_arrays)
    assert _forward(shared, _data()).shape == (1, 3)


def test_sizes_that_come_once_run_the_whole_program_for_all_sizes() -> None:
    # Pictures from 9 x 9 on: convolutions of smaller ones are of another form, prepared apart.
    executor = _bind(_net(), {"prepare": True}, data=(1, 3, 12, 12))
    _forward(executor, np.zeros((1, 3, 12, 12)))

    def stages(side: int, calls: int) -> int:
        reshaped = executor.reshape(allow_up_sizing=True, data=(1, 3, side, side))
        data = np.random.default_rng(side).uniform(-1, 1, (1, 3, side, side))
        results = [_forward(reshaped, data) for _ in range(calls)]
        with mx.program.fresh_caches():
            expected = _bind(_net(), {"prepare": False}, data=data.shape)
            _copy(executor, expected)
            np.testing.assert_allclose(results[-1], _forward(expected, data), 1e-5, 1e-6)
        return sum(f.name == "infer_prepared" for f in executor.program.functions)

    traces = executor.program.traces
    assert [stages(side, 1) for side in range(13, 17)] == [1] * 4
    assert executor.program.traces - traces == 1
    assert stages(14, 2) == 2
    assert executor.program.prepares == 1


def test_two_sets_of_parameters_stay_prepared_side_by_side() -> None:
    executors = [_bind(_net(), PREPARED, seed, data=SHAPE) for seed in (0, 1)]
    assert executors[0].program is executors[1].program
    results = [[_forward(e, _data()) for e in executors] for _ in range(4)]
    assert executors[0].program.prepares == 2
    for first, second in results:
        np.testing.assert_allclose(first, results[0][0], 1e-5, 1e-6)
        np.testing.assert_allclose(second, results[0][1], 1e-5, 1e-6)
    assert np.abs(results[0][0] - results[0][1]).max() > 1e-3


def _info() -> mx.program.CacheInfo:
    return mx.program.cache_info().kinds["prepared"]


def test_prepared_arrays_are_counted_and_freed_with_their_sources() -> None:
    gc.collect()
    before = _info().bytes
    executor = _bind(_net(), PREPARED, data=SHAPE)
    for _ in range(3):
        _forward(executor, _data())
    size = executor.program.prepared_bytes
    assert size > 0
    assert _info().bytes == before + size
    assert "of prepared arrays" in view_of(executor).text()
    executor.arg_dict["c1_weight"][:] = 1
    executor.forward(is_train=False, data=_data())[0].wait_to_read()
    assert _info().bytes == before
    for _ in range(9):
        _forward(executor, _data())
    assert _info().bytes == before + size
    del executor
    gc.collect()
    assert _info().bytes == before


def test_memory_of_prepared_arrays_is_bounded() -> None:
    limit = _info().limit_bytes
    try:
        mx.program.set_cache_limit(prepared_bytes=_info().bytes + 10)
        executor = _bind(_net(), PREPARED, data=SHAPE)
        first = _forward(executor, _data())
        assert (_forward(executor, _data()) == first).all()
        assert executor.program.prepares == 0
        assert _info().bytes <= _info().limit_bytes
    finally:
        mx.program.set_cache_limit(prepared_bytes=limit)
    _forward(executor, _data())
    assert executor.program.prepares == 1


def test_small_programs_are_left_alone_and_large_ones_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = _bind(_net(), {"interpret": False}, data=SHAPE)
    for _ in range(3):
        _forward(small, _data())
    assert small.program.prepares == 0
    data = mx.sym.Variable("data")
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(data, num_hidden=512), fix_gamma=False)
    large = _bind(net, {"interpret": False}, data=(1, 512))
    for _ in range(3):
        _forward(large, np.ones((1, 512)))
    assert large.program.prepares == 1
    monkeypatch.setenv("EXECUTORKIT_PREPARE", "0")
    mx.program.clear_cache()
    never = _bind(net, {"interpret": False}, data=(1, 512))
    for _ in range(3):
        _forward(never, np.ones((1, 512)))
    assert never.program.prepares == 0
    monkeypatch.setenv("EXECUTORKIT_PREPARE", "2")
    with pytest.raises(ValueError, match="EXECUTORKIT_PREPARE: '2', expected"):
        _bind(_net(), {"interpret": True}, data=SHAPE)


def test_entries_have_a_state() -> None:
    executor = _bind(_net(), PREPARED, data=SHAPE)
    fed = executor._fed
    states = []
    for _ in range(3):
        _forward(executor, _data())
        (entry,) = fed.layout.entries.values()
        states.append(entry.state)
    assert states == [State.READY, State.READY, State.READY]
    executor.arg_dict["c1_weight"][:] = 1
    _forward(executor, _data())
    assert [entry.state for entry in fed.layout.entries.values()] == [State.COUNTING]
    small = _bind(_net(), {"interpret": False}, data=SHAPE)
    _forward(small, _data())
    assert small._fed.state is State.NOT_WORTH_IT


def test_compile_makes_both_stages_ahead() -> None:
    executor = _bind(_net(), PREPARED, data=SHAPE)
    executor.compile()
    traces = executor.program.traces
    assert traces == 3
    for _ in range(3):
        _forward(executor, _data())
    assert executor.program.prepares == 1
    assert executor.program.traces == traces


@pytest.mark.usefixtures("compiled")
def test_stages_are_found_in_the_disk_cache(tmp_path: Any, jax_cache: Any) -> None:
    jax_cache(None)
    results = []
    mx.program.enable_disk_cache(tmp_path)
    try:
        for _ in range(2):
            mx.program.clear_cache()
            executor = _bind(_net(), PREPARED, data=SHAPE)
            results.append([_forward(executor, _data()) for _ in range(3)])
            functions = {f.name: f for f in executor.program.functions}
            join_workers()
            del executor
    finally:
        mx.program.disable_disk_cache()
    assert functions["infer_prepared"].loads == functions["prepare"].loads == 1
    np.testing.assert_array_equal(results[0], results[1])


def test_training_between_inferences_is_seen() -> None:
    net = mx.sym.SoftmaxOutput(_net(), name="softmax")
    outputs = []
    for options in (PLAIN, PREPARED):
        with mx.program.options(**options):
            executor = _fill(net.simple_bind(mx.cpu(), data=SHAPE, softmax_label=(1,)))
        results = []
        for step in range(4):
            results += [_forward(executor, _data(step)) for _ in range(3)]
            executor.forward(is_train=True, data=_data(step))
            executor.backward()
            executor.arg_dict["fc_weight"] -= 0.1 * executor.grad_dict["fc_weight"]
        outputs.append(results)
    np.testing.assert_allclose(outputs[1], outputs[0], 1e-4, 1e-5)


def test_module_predicts_from_prepared_arrays() -> None:
    with mx.program.options(**PREPARED):
        module = mx.mod.Module(_net(), label_names=())
        module.bind([("data", (2, *SHAPE[1:]))], for_training=False)
        mx.random.seed(0)
        module.init_params(mx.init.Normal(0.3))
        data = np.random.default_rng(0).standard_normal((8, *SHAPE[1:])).astype(np.float32)
        predicted = module.predict(mx.io.NDArrayIter(data, batch_size=2)).asnumpy()
    plain = _bind(_net(), PLAIN, data=data.shape)
    plain.copy_params_from(*module.get_params())
    np.testing.assert_allclose(predicted, _forward(plain, data), 1e-5, 1e-6)
    (executor,) = module._exec_group.execs
    assert executor.program.prepares == 1
