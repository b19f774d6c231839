"""Calls of blocks with inputs that are not arrays, and functions in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, gluon, nd
from executorkit.errors import ArgumentValueError


class Doubled(gluon.HybridBlock):
    """Twice the array among the inputs."""

    def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen = args
        return 2 * next(x for x in args if isinstance(x, nd.NDArray | mx.sym.Symbol))


def others() -> list[Any]:
    parameter = gluon.Parameter("p", shape=(2,))
    parameter.initialize()
    return [False, "text", {"a": nd.ones(2)}, None, 1.5, parameter, [False], nd.ones(1).asnumpy()]


def test_a_plain_block_takes_inputs_that_are_not_arrays() -> None:
    x = nd.ones(2)
    for other in others():
        for args in ((x, other), (other, x)):
            net = Doubled()
            assert net(*args).asnumpy().tolist() == [2, 2]
            assert all(a is b for a, b in zip(net.seen, args, strict=True))
    assert isinstance(Doubled()(mx.sym.var("x"), False), mx.sym.Symbol)


@pytest.mark.parametrize("hybridized", [False, True])
def test_arrays_or_symbols_are_asked_for(hybridized: bool) -> None:
    net = Doubled()
    if hybridized:
        net.hybridize()
    for other in others():
        if not isinstance(other, list):
            with pytest.raises(ArgumentValueError, match="neither an NDArray nor a Symbol"):
                net(other)
    with pytest.raises(ArgumentValueError, match="NDArrays and Symbols"):
        net(nd.ones(2), mx.sym.var("x"))


def test_a_hybridized_block_refuses_them() -> None:
    net = Doubled()
    net.hybridize()
    assert net(nd.ones(2), None).asnumpy().tolist() == [2, 2]
    with pytest.raises(ArgumentValueError, match="the input has a bool"):
        net(nd.ones(2), False)


class Triple(autograd.Function):
    """Three times its input, with a gradient of its own, in one of the forms of results."""

    def __init__(self, form: Any) -> None:
        super().__init__()
        self.form = form

    def forward(self, x: Any) -> Any:
        return self.form(x * 3)

    def backward(self, head: Any) -> Any:
        return head * 7


@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("form", [lambda x: x, lambda x: (x,), lambda x: [x]])
def test_a_function_returns_what_forward_returns(form: Any, recording: bool) -> None:
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record() if recording else autograd.pause():
        result = Triple(form)(x)
    assert type(result) is type(form(x))
    if recording:
        (result if isinstance(result, nd.NDArray) else result[0]).backward()
        assert x.grad.asnumpy().tolist() == [7, 7]
    symbol = Triple(form)(mx.sym.var("x"))
    assert type(symbol) is type(form(mx.sym.var("x")))


def test_a_function_in_a_hybridized_block_is_its_forward() -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return Triple(lambda x: x)(x) + 1

    net = Net()
    assert net(nd.ones(2)).asnumpy().tolist() == [4, 4]
    net.hybridize()
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    assert y.asnumpy().tolist() == [4, 4]
    assert x.grad.asnumpy().tolist() == [3, 3]


class Scaled(gluon.Parameter):
    """A parameter whose contents are read through a function, as weights with dropout are."""

    def data(self, ctx: Any = None) -> Any:
        return super().data(ctx) * 10


def test_a_parameter_may_define_its_contents() -> None:
    weight = Scaled("weight", shape=(1, 2), init="ones")
    weight.initialize()

    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="")
            self.weight = weight
            self.params.update({"weight": weight})

        def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
            return F.broadcast_mul(x, weight)

    net = Net()
    for _ in range(2):
        assert net(nd.ones((1, 2))).asnumpy().tolist() == [[10, 10]]
        net.hybridize()


def test_the_contexts_of_a_parameter_as_libraries_read_them() -> None:
    parameter = gluon.Parameter("p", shape=(2,), allow_deferred_init=True)
    assert (parameter._ctx_list, parameter._ctx_map) == (None, None)
    parameter.initialize(ctx=[mx.cpu(0), mx.cpu(2)])
    assert parameter._ctx_list == [mx.cpu(0), mx.cpu(2)]
    assert parameter._ctx_map == [[], [0, None, 1]]
    copied = gluon.Parameter("q", shape=(2,))
    copied._data, copied._grad = parameter._data, parameter._grad
    copied._ctx_list, copied._ctx_map = parameter._ctx_list, parameter._ctx_map
    assert copied._ctx_map == [[], [0, None, 1]]
    waiting = gluon.Parameter("w", shape=(0,), allow_deferred_init=True)
    waiting.initialize()
    assert (waiting._ctx_list, waiting._ctx_map) == (None, None)


@pytest.mark.parametrize("ctx", [None, mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
def test_a_context_does_not_matter_for_parameters_that_are_not_read(
    tmp_path: Any, ctx: Any
) -> None:
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    net(nd.ones((1, 3)))
    net.export(str(tmp_path / "net"))
    path = str(tmp_path / "net-symbol.json")
    block = gluon.SymbolBlock.imports(path, ["data"], None, ctx=ctx)
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        block.collect_params()[net.weight.name].list_ctx()
    block.initialize()
    assert block(nd.ones((1, 3))).shape == (1, 2)


class Halved(gluon.nn.Dense):
    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        return super().hybrid_forward(F, x / 2, weight, bias)


class Negated(gluon.nn.Activation):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return -super().hybrid_forward(F, x)


def test_recorded_dense_layers_are_what_their_parts_say() -> None:
    x, seen = nd.array([[1.0, -2.0]]), []

    def outcome(layer: Any) -> list[Any]:
        with autograd.record():
            y = layer(x)
        y.backward()
        return [y.asnumpy().tolist(), layer.weight.grad().asnumpy().tolist()]

    layer = gluon.nn.Dense(1, activation="relu", in_units=2, weight_initializer="ones")
    halved = Halved(1, "relu", in_units=2, weight_initializer="ones")
    for net in (layer, halved):
        net.initialize()
    layer.bias.set_data(nd.ones(1) * 2)
    halved.bias.set_data(nd.ones(1))
    for _ in range(3):  # each call after the first is recorded at once
        assert outcome(layer) == [[[1.0]], [[1.0, -2.0]]]
        assert outcome(halved) == [[[0.5]], [[0.5, -1.0]]]
    with pytest.raises(mx.base.MXNetError, match="FullyConnected"), autograd.record():
        layer(nd.ones((1, 3)))
    hook = layer.act.register_forward_hook(lambda _, inputs, y: seen.append((*inputs, y)))
    assert outcome(layer)[0] == [[1.0]]
    assert [v.asnumpy().tolist() for v in seen[0]] == [[[1.0]], [[1.0]]]
    hook.detach()
    layer.act = Negated("relu")
    assert outcome(layer) == [[[-1.0]], [[-1.0, 2.0]]]


def test_hooks_without_kept_handles_all_run_and_one_function_once() -> None:
    layer = gluon.nn.Dense(1, in_units=1)
    layer.initialize()
    seen: list[Any] = []
    for k in range(3):
        layer.register_forward_hook(lambda *_, k=k: seen.append(k))

    def last(*_: Any) -> None:
        seen.append("last")

    handles = [layer.register_forward_hook(last) for _ in range(2)]
    layer(nd.ones((1, 1)))
    handles[0].detach()
    layer(nd.ones((1, 1)))
    assert seen == [0, 1, 2, "last", 0, 1, 2]


def test_a_class_that_names_no_module_is_recorded() -> None:
    names: dict[str, Any] = {"gluon": gluon, "__name__": None}
    exec("class Net(gluon.nn.Dense):\n def hybrid_forward(self, F, x, **p): return x * 2", names)
    net = names["Net"](1, in_units=1)
    net.initialize()
    for _ in range(2):
        with autograd.record():
            assert net(nd.ones((1, 1))).asscalar() == 2


@pytest.mark.parametrize("operator", ["pick", "CTCLoss"])
def test_operators_with_own_derivatives_in_hybridized_loops(operator: str) -> None:
    """A derivative that reads indices of the loop's body has the gradient of the plain loop."""

    class Total(gluon.HybridBlock):
        def hybrid_forward(self, F, scores, classes):
            def body(data, total):
                result = F.pick(*data)
                if operator == "CTCLoss":
                    result = F.CTCLoss(F.stack(*[data[0]] * 3), F.expand_dims(data[1], 1))
                return [], total * 0.5 + result

            return F.contrib.foreach(body, [scores, classes], F.zeros((2,)))[1]

    total, gradients = Total(), []
    for _ in range(2):
        scores = mx.nd.arange(24).reshape((3, 2, 4)).sin()
        scores.attach_grad()
        with autograd.record():
            loss = total(scores, mx.nd.array([[1, 2], [3, 1], [2, 2]]))
        loss.backward()
        gradients.append(scores.grad.asnumpy())
        total.hybridize()
    np.testing.assert_allclose(*gradients, rtol=1e-5, atol=1e-6)


def _network() -> Any:
    nn = gluon.nn
    net, inner = nn.HybridSequential(), nn.HybridSequential()
    inner.add(nn.Dropout(0.5), nn.Dense(4, activation="tanh", in_units=12, flatten=True))
    net.add(nn.Conv2D(3, 3, in_channels=2, activation="relu"), nn.BatchNorm(in_channels=3))
    net.add(nn.MaxPool2D(), nn.LeakyReLU(0.1), inner, nn.Dense(3, in_units=4, use_bias=False))
    return net


def _with_nested_hook(net: Any, seen: list[str]) -> None:
    net[4][1].act.register_forward_hook(lambda block, _, y: seen.append(str(y.shape)))


def _with_own_forward(net: Any, seen: list[str]) -> None:
    forward = net[3].forward
    net[3].forward = lambda x: seen.append("called") or forward(x)


def _with_own_parameter(net: Any, seen: list[str]) -> None:
    weight = Scaled("own_weight", shape=(3, 4), init="ones")
    weight.initialize()
    net[5]._reg_params["weight"] = weight


CHANGES: dict[str, Callable[[Any, list[str]], None]] = {
    "nothing": lambda net, seen: None,
    "an attribute": lambda net, seen: setattr(net[4][0], "_rate", 0.0),
    "options": lambda net, seen: net[2]._kwargs.update(pool_type="avg"),
    "a replaced layer": lambda net, seen: net._children.update({"3": gluon.nn.SELU()}),
    "a layer less": lambda net, seen: net._children.pop("3"),
    "another activation": lambda net, seen: setattr(net[0], "act", gluon.nn.Activation("tanh")),
    "a hook": _with_nested_hook,
    "a pre-hook of the whole": lambda net, seen: net.register_forward_pre_hook(
        lambda block, inputs: seen.append(str(inputs[0].shape))
    ),
    "a forward of its own": _with_own_forward,
    "a hybridized layer": lambda net, seen: net[4].hybridize(),
    "a frozen layer": lambda net, seen: net[0].collect_params().setattr("grad_req", "null"),
    "a parameter that defines its contents": _with_own_parameter,
    "other weights": lambda net, seen: net[5].weight.set_data(nd.ones((3, 4))),
    "float64": lambda net, seen: net.cast("float64"),
    "two contexts": lambda net, seen: net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)]),
}


def _trained(change: Callable[[Any, list[str]], None]) -> list[Any]:
    """Losses, gradients, statistics and what hooks saw, with a change after three of six steps."""
    mx.random.seed(2)
    net, loss, seen = _network(), gluon.loss.SoftmaxCrossEntropyLoss(weight=0.5), []
    net.initialize(mx.init.Uniform(0.5))
    random = np.random.default_rng(0)
    results: list[Any] = []
    for n in range(6):
        if n == 3:
            change(net, seen)
        rows = 4 + n % 2
        dtype = net[-1].weight.dtype
        x = nd.array(random.random((rows, 2, 6, 6)) - 0.5, dtype=dtype)
        labels = nd.array(random.integers(0, 3, rows), dtype=dtype)
        weights = [nd.ones((rows, 1), dtype=dtype) * n] if n > 3 else []
        with autograd.record():
            y = loss(net(x), labels, *weights)
        y.backward()
        results.append(y.asnumpy())
        arrays = [
            p.data() if p.grad_req == "null" else p.grad() for p in net.collect_params().values()
        ]
        results += [x.asnumpy() for x in arrays]
    return [*results, seen]


@pytest.mark.parametrize("change", CHANGES)
def test_plain_networks_record_what_their_layers_say(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a network is recorded at once or layer by layer."""
    *results, seen = _trained(CHANGES[change])
    monkeypatch.setattr(gluon.HybridBlock, "_is_plain", False)
    *expected, seen_there = _trained(CHANGES[change])
    assert seen == seen_there
    assert bool(seen) == (change in ("a hook", "a pre-hook of the whole", "a forward of its own"))
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-6)
