"""Messages of modules that are used too early or wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import executorkit as mx

pytestmark = pytest.mark.smoke


def _net() -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _unbound() -> Any:
    return mx.mod.Module(_net())


def _one_name_twice() -> Any:
    x = mx.sym.Variable("data")
    for layer in ("fc1", "fc2"):
        x = mx.sym.FullyConnected(
            x, mx.sym.Variable("weight"), num_hidden=5, no_bias=True, name=layer
        )
    return mx.mod.Module(x, label_names=None)


def _without_label_names() -> Any:
    module = mx.mod.Module(_net(), label_names=None)
    module.bind([("data", (2, 5))], for_training=False)
    module.init_params(arg_params={"softmax_label": mx.nd.zeros(2)}, allow_missing=True)
    return module


def _bound() -> Any:
    module = _unbound()
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    return module


def _ready() -> Any:
    module = _bound()
    module.init_params()
    return module


NOT_BOUND = "the module is not bound\n  try: bind(data_shapes, label_shapes) first"
NO_PARAMS = "the parameters are not initialised\n  try: init_params() first"
NO_OPTIMIZER = "the optimizer is missing\n  try: init_optimizer() first"
ARGUMENTS = "try: one of: data, fc_weight, fc_bias, softmax_label"

CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "forward": (lambda: _unbound().forward(None), AssertionError, f"forward: {NOT_BOUND}"),
    "shapes": (lambda: _unbound().data_shapes, AssertionError, f"data_shapes: {NOT_BOUND}"),
    "outputs": (lambda: _unbound().get_outputs(), AssertionError, f"get_outputs: {NOT_BOUND}"),
    "predict": (lambda: _unbound().predict(None), AssertionError, f"predict: {NOT_BOUND}"),
    "params": (lambda: _bound().forward(None), AssertionError, f"forward: {NO_PARAMS}"),
    "update": (lambda: _ready().update(), AssertionError, f"update: {NO_OPTIMIZER}"),
    "borrow": (
        lambda: _ready().borrow_optimizer(_unbound()),
        AssertionError,
        f"borrow_optimizer: {NO_OPTIMIZER}",
    ),
    "data_names": (
        lambda: mx.mod.Module(_net(), data_names=["dat"]),
        ValueError,
        "Module: data_names: 'dat' is not an argument of the symbol\n"
        "  given by: data_names=['dat']\n  try: one of: data",
    ),
    "shared": (
        lambda: _one_name_twice().bind([("data", (2, 5))]),
        RuntimeError,
        "bind: arguments share a name: 'weight'\n"
        "  because several variables are called 'weight'\n"
        "  try: create the variable once and pass it to each layer that shares it",
    ),
    "batch of arrays": (
        lambda: _ready().forward(np.ones((2, 5))),
        TypeError,
        "forward: the batch is of type ndarray\n"
        "  try: mx.io.DataBatch([data], [label]) of NDArrays",
    ),
    "batches of arrays": (
        lambda: _ready().forward([mx.nd.ones((2, 5))]),
        AttributeError,
        "forward: the batch is of type NDArray\n"
        "  try: mx.io.DataBatch([data], [label]) of NDArrays",
    ),
    "no batch": (
        lambda: _ready().forward(None),
        AttributeError,
        "forward: the batch is None\n  try: mx.io.DataBatch([data], [label]) of NDArrays",
    ),
    "fit arrays": (
        lambda: _unbound().fit(np.ones((2, 5)), num_epoch=1),
        AttributeError,
        "fit: train_data: it is of type ndarray, expected an iterator\n"
        "  try: mx.io.NDArrayIter(data, label, batch_size)",
    ),
    "score arrays": (
        lambda: _ready().score([np.ones((2, 5))], "acc"),
        AttributeError,
        "eval_data: it is of type list, expected an iterator\n"
        "  try: mx.io.NDArrayIter(data, label, batch_size)",
    ),
    "one shape": (
        lambda: _unbound().bind(("data", (2, 5))),
        TypeError,
        "data_shapes, label_shapes: 'data' in place of a name and a shape\n"
        "  try: [('data', (32, 784))], or the provide_data of an iterator",
    ),
    "shape without name": (
        lambda: _unbound().bind([(2, 5)]),
        ValueError,
        "data_shapes, label_shapes: (2, 5) in place of a name and a shape\n"
        "  try: [('data', (32, 784))], or the provide_data of an iterator",
    ),
    "label as parameter": (
        lambda: _without_label_names().forward(mx.io.DataBatch([mx.nd.ones((3, 5))])),
        RuntimeError,
        "group: shared parameter 'softmax_label': (2,) float32, expected (3,) float32\n"
        "  because that is what this group's symbol infers for its inputs\n"
        "  given by: data=(3, 5)\n"
        "  try: label_names=['softmax_label'], if it is a label",
    ),
    "fixed": (
        lambda: mx.mod.Module(_net(), fixed_param_names=["zz"]),
        ValueError,
        "Module: fixed_param_names: 'zz' is not an argument of the symbol\n"
        f"  given by: fixed_param_names=['zz']\n  {ARGUMENTS}",
    ),
    "workloads": (
        lambda: mx.mod.Module(_net(), context=[mx.cpu()], work_load_list=[1, 2]),
        AssertionError,
        "Module: work_load_list: 2 of them for 1 contexts",
    ),
    "bind": (
        lambda: _unbound().bind([("zz", (2, 5))]),
        ValueError,
        "bind: data_shapes: they are of [zz], expected [data]\n"
        "  because data_names of the module say so",
    ),
    "inference": (
        lambda: _unbound().bind([("data", (2, 5))], for_training=False, inputs_need_grad=True),
        AssertionError,
        "bind: inputs_need_grad is for training\n  try: for_training=True",
    ),
    "missing": (
        lambda: _bound().init_params(arg_params={"fc_weight": mx.nd.ones((3, 5))}),
        RuntimeError,
        "init_params: 'fc_bias': it is not among the given parameters\n"
        "  try: allow_missing=True initialises such parameters",
    ),
    "input gradients": (
        lambda: _ready().get_input_grads(),
        AssertionError,
        "get_input_grads: the group is bound without gradients of its inputs\n"
        "  try: bind with inputs_need_grad=True",
    ),
    "states": (
        lambda: _ready().get_states(),
        AssertionError,
        "get_states: states are not merged\n  try: get_states(merge_multi_context=False)",
    ),
    "optimizer": (
        lambda: _ready().init_optimizer(optimizer=5),
        AssertionError,
        "init_optimizer: optimizer: a int, expected a name or an Optimizer",
    ),
    "kvstore": (
        lambda: _ready().init_optimizer(kvstore=5),
        TypeError,
        "kvstore: a int, expected a KVStore, a name or None",
    ),
    "epochs": (
        lambda: _unbound().fit(mx.io.NDArrayIter(np.ones((2, 5)))),
        AssertionError,
        "fit: num_epoch is missing\n  try: fit(num_epoch=10)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_messages(name):
    action, error, message = CASES[name]
    with pytest.raises(error) as caught:
        action()
    assert isinstance(caught.value, mx.MXNetError)
    assert str(caught.value) == message


def test_names_that_modules_of_users_import():
    from executorkit.module.base_module import _as_list, _check_input_names, _parse_data_desc

    assert (_as_list(1), _as_list((1, 2)), _as_list(None)) == ([1], (1, 2), [None])
    _check_input_names(_net(), ["data"], "data", True)
    with pytest.raises(ValueError, match="'zz' is not an argument"):
        _check_input_names(_net(), ["zz"], "data", True)
    data, labels = _parse_data_desc(["data"], ["y"], [("data", (2, 5))], [("y", (2,))])
    assert [type(d) for d in (*data, *(labels or ()))] == [mx.io.DataDesc] * 2
    assert _parse_data_desc(["data"], [], [("data", (2, 5))], None)[1] is None


def _stateful() -> Any:
    state = mx.sym.Variable("h")
    out = mx.sym.elemwise_add(mx.sym.Variable("data"), state, name="out")
    module = mx.mod.Module(out, label_names=None, state_names=["h"], context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 2))], for_training=False)
    module.init_params()
    return module


def test_states_persist_between_batches_and_are_set_by_number_or_by_device():
    module, batch = _stateful(), mx.io.DataBatch([mx.nd.ones((4, 2))])
    module.set_states(value=2)
    for total in (3, 4):
        module.forward(batch)
        outputs = module.get_outputs(merge_multi_context=False)
        assert [a.asnumpy().tolist() for a in outputs[0]] == [[[total] * 2] * 2] * 2
        module.set_states(states=outputs)
        states = module.get_states(merge_multi_context=False)
        assert [a.asnumpy().tolist() for a in states[0]] == [[[total] * 2] * 2] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "set_states: expected either states or value, and not both"),
        ({"states": [], "value": 1}, "set_states: expected either states or value, and not both"),
        ({"states": [[mx.nd.ones((2, 2))]]}, "set_states: 'h': 1 arrays for 2 devices"),
    ],
)
def test_states_that_are_refused(arguments, message):
    with pytest.raises(AssertionError) as caught:
        _stateful().set_states(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("count", [1, 2])
def test_each_bucket_is_compiled_once(count):
    def symbol(length: int) -> Any:
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, flatten=False, name="fc")
        x = mx.sym.SoftmaxOutput(mx.sym.mean(x, axis=1), name="softmax")
        return x, ("data",), ("softmax_label",)

    def step(length: int) -> None:
        batch = mx.io.DataBatch(
            [mx.nd.ones((4, length, 3))],
            [mx.nd.zeros((4,))],
            bucket_key=length,
            provide_data=[mx.io.DataDesc("data", (4, length, 3))],
            provide_label=[mx.io.DataDesc("softmax_label", (4,))],
        )
        module.forward_backward(batch)
        module.update()

    contexts = [mx.cpu(i) for i in range(count)]
    module = mx.mod.BucketingModule(symbol, default_bucket_key=7, context=contexts)
    module.bind([("data", (4, 7, 3))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer()
    for length in (7, 5, 6):
        step(length)
    before = mx.program.cache_info().traces
    for length in (5, 7, 6, 5):
        step(length)
    module.get_params()
    assert mx.program.cache_info().traces == before
    assert set(module._buckets) == {5, 6, 7}
