"""Convolutions of prepared inference by the kernel in C: which are taken, with what behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.jaxprs import FlatProgram
from executorkit.ops.nn.conv_kernels import native_convolution as native
from executorkit.program._background_tasks import join_workers

pytestmark = [
    pytest.mark.usefixtures("fresh_programs"),
    pytest.mark.skipif(not native.available(), reason="there is no compiler"),
]

SHAPE = (2, 6, 9, 8)
_CHAIN, _FUSED = "executorkit_convolution_chain", "a convolution of a chain"


def _executor(net: Any, interpret: bool | None = False, **options: Any) -> Any:
    with mx.program.options(**{"prepare": True, "interpret": interpret} | options):
        executor = net.simple_bind(mx.cpu(), grad_req="null", data=SHAPE)
    rng = np.random.default_rng(0)
    arrays = {**executor.arg_dict, **executor.aux_dict}
    for name in sorted(arrays):
        contents = rng.standard_normal(arrays[name].shape) * 0.5
        arrays[name][:] = np.abs(contents) + 0.5 if name.endswith("var") else contents
    return executor


def _output(executor: Any, data: Any = None) -> np.ndarray:
    if data is None:
        data = np.random.default_rng(1).standard_normal(SHAPE)
    return executor.forward(is_train=False, data=data)[0].asnumpy()


def _operations(executor: Any) -> list[str]:
    """The names of the second stage's operations, those of a chain one by one."""
    _output(executor)
    (split,) = executor.program.prepared._splits.values()
    program: FlatProgram = split.run._settings.program()
    names = [operation.name for operation in program.operations]
    chains = [operation for operation in program.operations if operation.name == _CHAIN]
    return names + [_FUSED for chain in chains for _ in chain.params["rows"]]


def _conv(x: Any, filters: int = 16, kernel: int = 3, **settings: Any) -> Any:
    settings.setdefault("pad", (kernel // 2, kernel // 2))
    return mx.sym.Convolution(x, kernel=(kernel, kernel), num_filter=filters, **settings)


def _relu(x: Any) -> Any:
    return mx.sym.Activation(x, act_type="relu")


def _fire(x: Any) -> Any:
    few = _relu(_conv(x, 16, 1))
    return mx.sym.concat(_relu(_conv(few, 20, 1)), _relu(_conv(few, 28)), dim=1)


def _nets() -> dict[str, tuple[Any, int]]:
    """Networks, and how many of their additions and bounds stay operations."""
    data = mx.sym.Variable("data")
    wide = _conv(data, 32)
    means = mx.sym.mean(data, axis=(1, 2, 3), keepdims=True)
    return {
        "bias": (_conv(data), 0),
        "no bias": (_conv(data, no_bias=True), 0),
        "normalised": (_relu(mx.sym.BatchNorm(_conv(data), fix_gamma=False)), 0),
        "pointwise": (mx.sym.clip(_conv(data, kernel=1), 0, 6), 0),
        "strided": (_relu(_conv(data, stride=(2, 2))), 0),
        "strided pointwise": (_conv(data, kernel=1, stride=(2, 2)), 0),
        "dilated": (_relu(_conv(data, dilate=(2, 1), pad=(2, 0))), 0),
        "wide": (_conv(data, 24, kernel=5), 0),
        "depthwise": (_relu(_conv(wide, 32, num_group=32)), 0),
        "strided depthwise": (_conv(wide, 32, num_group=32, stride=(2, 2)), 0),
        "residual": (_relu(_conv(_relu(wide), 32) + wide), 1),
        "two branches": (_relu(_conv(data) + _conv(data, kernel=1)), 0),
        "negative bounds": (mx.sym.clip(_conv(data), -0.5, 0.25), 0),
        "twice": (wide + wide, 1),
        "two readers": (_relu(wide) * mx.sym.sin(wide), 1),
        "number": (_conv(data) + 1, 1),
        "spread": (mx.sym.broadcast_add(_conv(data), means), 1),
        "bounds, then a sum": (_relu(wide) + _conv(data, 32), 0),
        "concatenated": (_conv(_fire(wide)), 0),
        "concatenated twice": (_fire(_fire(data)), 0),
        "read beside its concatenation": (mx.sym.concat(wide, _conv(wide), dim=1) * _fire(wide), 0),
        "concatenated with others": (_conv(mx.sym.concat(data, wide, dim=1)), 0),
        "concatenated with itself": (_conv(mx.sym.concat(wide, wide, dim=1)), 0),
        "in two chains": (_conv(mx.sym.sin(_conv(wide, 32)) * 0.1) + _conv(wide), 0),
        "bounds twice": (mx.sym.clip(_relu(wide), -1, 2), 1),
    }  # fmt: skip


@pytest.mark.parametrize("name", _nets())
def test_results_are_those_of_plain_convolutions(name: str) -> None:
    net, others = _nets()[name]
    with mx.lowering.disabled("native_convolutions"):
        expected = _output(_executor(net, prepare=False))
    for interpret in (False, True):
        executor = _executor(net, interpret)
        bound = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(_output(executor), expected, 1e-5, bound)
        names = _operations(executor)
        assert names.count(_FUSED) == net.tojson().count('"op": "Convolution"')
        assert sum(names.count(n) for n in ("add", "max", "clamp")) == others


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ((2, 6, 9, 8), {"num_group": 2}),
        ((2, 6, 9, 8), {"layout": "NHWC"}),
        ((2, 6, 9, 8), {"filters": 3}),
    ],
)
def test_others_are_computed_as_before(shape: Any, settings: Any) -> None:
    layout = settings.get("layout")
    net = _conv(mx.sym.Variable("data"), **settings)
    plain, executor = (_executor(net, prepare=p) for p in (False, True))
    np.testing.assert_allclose(_output(executor), _output(plain), 1e-5, 1e-5)
    assert (_FUSED in _operations(executor)) == (layout is not None)


@pytest.mark.parametrize(
    "switch",
    [
        lambda patch: patch.setenv("EXECUTORKIT_NATIVE", "0"),
        lambda patch: patch.setenv("EXECUTORKIT_DETERMINISTIC", "1"),
        lambda patch: patch.setattr(native, "wanted", lambda: False),
    ],
)
def test_it_can_be_switched_off(
    switch: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    switch(monkeypatch)
    assert _FUSED not in _operations(_executor(_conv(mx.sym.Variable("data"))))


def test_it_is_a_pass_that_can_be_disabled() -> None:
    net = _conv(mx.sym.Variable("data"))
    with mx.lowering.disabled("native_convolutions"):
        executor = _executor(net)
    assert _FUSED not in _operations(executor)
    assert _FUSED in _operations(_executor(net))


def _training_step(**options: Any) -> tuple[list[np.ndarray], int]:
    """Returns results and gradients of a network, and the number of the kernel's calls."""
    data = mx.sym.Variable("data")
    net = _relu(
        mx.sym.BatchNorm(_conv(data, 32, no_bias=True, name="a"), fix_gamma=False, name="n")
    )
    net = _conv(_conv(net, kernel=1, name="b"), stride=(2, 2), name="c")
    with mx.program.options(**{"interpret": False} | options):
        executor = net.simple_bind(mx.cpu(), data=(2, 16, 9, 8))
    rng = np.random.default_rng(0)
    for _, array in sorted(executor.arg_dict.items()):
        array[:] = rng.standard_normal(array.shape) * 0.5
    (output,) = executor.forward(is_train=True)
    executor.backward(mx.nd.array(rng.standard_normal(output.shape)))
    gradients = [executor.grad_dict[name].asnumpy() for name in sorted(executor.grad_dict)]
    text = executor.program.hlo("forward_backward_train", optimized=False)
    return [output.asnumpy(), *gradients], text.count("custom_call @executorkit")


def test_training_steps_have_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    with mx.lowering.disabled("native_convolutions"):
        expected, calls = _training_step()
    assert calls == 0
    for interpret in (False, True):
        results, calls = _training_step(interpret=interpret)
        for ours, plain in zip(results, expected, strict=True):
            bound = 1e-5 * np.abs(plain).max()
            np.testing.assert_allclose(ours, plain, 1e-5, bound)
        assert calls == 8  # but for the gradient of the strided one's data
    assert _training_step(deterministic=True)[1] == 0
    monkeypatch.setattr(native, "available", lambda: False)
    with mx.program.fresh_caches():
        results, calls = _training_step()
    np.testing.assert_allclose(results[0], expected[0], 1e-5, 1e-4)
    assert calls == 0


def test_other_dtypes_and_weights_that_change_are_left_alone() -> None:
    net = _conv(mx.sym.Variable("data"))
    assert _FUSED not in _operations(_executor(net, compute_dtype="bfloat16"))
    executor = _executor(_relu(_conv(_conv(mx.sym.Variable("data"), name="c"), 16)))
    rng = np.random.default_rng(2)
    for _ in range(6):
        weight = rng.standard_normal((16, 6, 3, 3))
        executor.forward(is_train=False, data=rng.standard_normal(SHAPE), c_weight=weight)
        ours = executor.outputs[0].asnumpy()
    plain = _executor(executor._symbol, prepare=False)
    plain.copy_params_from(executor.arg_dict)
    np.testing.assert_allclose(ours, plain.forward(is_train=False)[0].asnumpy(), 1e-5, 1e-4)


def test_without_a_kernel_the_parts_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that fails is noticed after the weights have been packed."""
    net = _relu(_conv(mx.sym.Variable("data"), 24))
    expected = _output(_executor(net))
    monkeypatch.setattr(native, "available", lambda: False)
    with mx.program.fresh_caches():
        np.testing.assert_allclose(_output(_executor(net)), expected, 1e-5, 1e-6)


def test_unusual_numbers_stay() -> None:
    """A bound keeps NaN, as ``maximum`` does, and padding adds zeros, not products."""
    data = np.random.default_rng(1).standard_normal(SHAPE)
    data[0, 1, 4, 4], data[1, 2, 0, 0] = np.nan, np.inf
    net = _relu(_conv(mx.sym.Variable("data"), name="c"))
    expected, ours = (_output(_executor(net, prepare=p), data) for p in (False, True))
    assert np.isnan(expected).any()
    np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)


@pytest.mark.usefixtures("compiled")
def test_programs_with_the_kernel_are_kept_on_disk(
    tmp_path: Any, jax_cache: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax_cache(None)
    net = _relu(_conv(mx.sym.Variable("data")))
    results, loads = [], []
    mx.program.enable_disk_cache(tmp_path)
    try:
        for is_available in (True, True, False):
            monkeypatch.setattr(native, "available", lambda it=is_available: it)
            mx.program.clear_cache()
            executor = _executor(net, None)
            results.append(_output(executor))
            (run,) = (f for f in executor.program.functions if f.name == "infer_prepared")
            loads.append(run.loads)
            join_workers()
            del executor
    finally:
        mx.program.disable_disk_cache()
    assert loads == [0, 1, 0]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], 1e-5, 1e-5)
