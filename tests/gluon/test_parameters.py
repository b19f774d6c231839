"""Parameters and their dictionaries: texts of errors, whole changes, copies, files, speed."""

from __future__ import annotations

import copy
import pickle
import warnings
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import gluon
from tests._tools.interrupts import Interrupter
from tests._tools.work import count_calls


def _parameters(**shapes):
    params = gluon.ParameterDict("net_")
    for name, shape in shapes.items():
        params.get(name, shape=shape, allow_deferred_init=True)
    return params


def _ready(**shapes):
    params = _parameters(**shapes)
    params.initialize(mx.init.One())
    return params


def _contents(params):
    return {
        n: [x.asnumpy().tolist() for x in p.list_data()]
        if p.shape and 0 not in p.shape and p.list_ctx()
        else None
        for n, p in params.items()
    }


def _train(parameter, factor=3):
    with mx.autograd.record():
        y = (parameter.data() * factor).sum()
    y.backward()
    return parameter.grad().asnumpy().tolist()


# Errors


def _not_initialized():
    gluon.Parameter("w", shape=(2,)).data()


def _waiting():
    params = _parameters(w=(0,))
    params.initialize()
    params["net_w"].data()


def _elsewhere():
    _ready(w=(2,))["net_w"].data(mx.cpu(1))


def _contradicted():
    _ready(w=(2,)).get("w", grad_req="null")


def _lacking():
    _ready(a=(2,), b=(2,)).load_dict({"net_a": mx.nd.ones((2,))}, filename="x.params")


def _too_many():
    arrays = {"net_a": mx.nd.ones((2,)), "net_z": mx.nd.ones((2,))}
    _ready(a=(2,)).load_dict(arrays, filename="x.params")


def _wide():
    _ready(a=(2,)).load_dict({"net_a": mx.nd.ones((2,), dtype="float64")})


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (
            _not_initialized,
            "parameter 'w': it has not been initialized\n"
            "  try: net.initialize(); a Trainer takes net.collect_params(), which includes "
            "children",
        ),
        (
            _waiting,
            "parameter 'net_w': it has not been initialized yet, because its shape (0,) is not "
            "known\n  try: call the network with a batch first, or give in_units, in_channels, ...",
        ),
        (_elsewhere, "parameter 'net_w': it is not on context cpu(1), but on [cpu(0)]"),
        (_contradicted, "parameter 'net_w': it exists with grad_req='write', 'null' is asked for"),
        (
            _lacking,
            "x.params: it has no parameter 'net_b'\n  try: allow_missing=True; it has net_a",
        ),
        (
            _too_many,
            "x.params: it has 'net_z', which is not a parameter here\n"
            "  try: ignore_extra=True; parameters are net_a",
        ),
        (
            _wide,
            "parameter 'net_a': the dtype in the file is float64, expected float32\n"
            "  try: cast_dtype=True",
        ),
    ],
)
def test_errors_say_what_to_do(action, text):
    with pytest.raises(mx.MXNetError) as raised:
        action()
    assert str(raised.value) == text


def test_deferred_initialization_has_a_class_of_its_own():
    with pytest.raises(gluon.parameter.DeferredInitializationError):
        _waiting()
    with pytest.raises(mx.MXNetError) as raised:
        _not_initialized()
    assert not isinstance(raised.value, gluon.parameter.DeferredInitializationError)


def test_warnings_name_the_line_of_the_caller():
    constant = gluon.Constant("c", [1])
    constant.initialize()
    with pytest.warns(UserWarning, match="force_reinit=True replaces it") as again:
        constant.initialize()
    with pytest.warns(UserWarning, match="'write' is ignored") as request:
        constant.grad_req = "write"
    assert [w.filename for w in [*again, *request]] == [__file__] * 2


# Sparse storage


def test_sparse_storage_is_dense_and_says_so_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for option in ("grad_stype", "stype"):
            options: dict[str, Any] = {option: "row_sparse"}
            parameter = gluon.Parameter("w", shape=(3, 2), **options)
            parameter.initialize(mx.init.One())
            assert _train(parameter) == [[3, 3]] * 3
    assert ["are dense here" in str(w.message) for w in caught] == [True]
    rows = mx.nd.array([1])
    assert parameter.row_sparse_data(rows) is parameter.data()
    assert parameter.list_row_sparse_data(rows) is parameter.list_data()


# Whole changes


@pytest.mark.parametrize("error", ["missing", "extra", "shape", "dtype", "context"])
def test_files_that_do_not_fit_change_nothing(error, tmp_path):
    arrays = {f"net_{name}": mx.nd.ones((2,)) * 5 for name in "abc"}
    options = {}
    if error == "missing":
        del arrays["net_b"]
    elif error == "extra":
        arrays["net_z"] = mx.nd.ones((2,))
    elif error == "context":
        options["ctx"] = mx.cpu(1)
    else:
        arrays["net_c"] = mx.nd.ones((3,)) if error == "shape" else mx.nd.ones((2,), dtype="int8")
    mx.nd.save(str(tmp_path / "x"), arrays)
    params = _ready(b=(2,), c=(2,))
    new = params.get("a", shape=(0,), allow_deferred_init=True)
    with pytest.raises(AssertionError):
        params.load(tmp_path / "x", **options)
    assert _contents(params) == {"net_b": [[1, 1]], "net_c": [[1, 1]], "net_a": None}
    assert new.shape == (0,)
    with pytest.raises(mx.MXNetError, match="has not been initialized"):
        new.list_ctx()


def test_an_interrupted_load_is_whole_or_has_not_begun():
    arrays = {f"net_{name}": mx.nd.ones((2,)) * 5 for name in "ab"}
    seen = set()
    for at in range(1, 10_000):
        params = _ready(b=(2,))
        params.get("a", shape=(0,), allow_deferred_init=True)
        if not Interrupter(at, only="gluon").run(partial(params.load_dict, arrays)):
            break
        contents = str(_contents(params))
        seen.add(contents)
        assert contents in (
            "{'net_b': [[1.0, 1.0]], 'net_a': None}",
            "{'net_b': [[5.0, 5.0]], 'net_a': [[5.0, 5.0]]}",
        )
    assert len(seen) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.initialize(mx.init.Xavier(), force_reinit=True),
        lambda p: p.initialize(ctx="cpu", force_reinit=True),
        lambda p: p.cast("nothing"),
        lambda p: p.reset_ctx("cpu"),
        lambda p: setattr(p, "grad_req", "x"),
        lambda p: setattr(p, "shape", (3,)),
        lambda p: p.set_data(mx.nd.ones((3,))),
        lambda p: p.set_data([1, 2]),
    ],
)
def test_changes_that_are_refused_change_nothing(change):
    parameter = _ready(w=(2,))["net_w"]
    array, grad = parameter.data(), parameter.grad()
    with pytest.raises((mx.MXNetError, TypeError)):
        change(parameter)
    assert parameter.data() is array
    assert parameter.grad() is grad
    assert (parameter.dtype, parameter.shape, parameter.grad_req) == (np.float32, (2,), "write")
    assert _train(parameter) == [3, 3]


def test_a_refused_dictionary_is_not_begun():
    params = _parameters(a=(2,))
    params.get("b", shape=(0,))
    with pytest.raises(ValueError, match="'net_b': it cannot be initialized"):
        params.initialize()
    with pytest.raises(mx.MXNetError, match="'net_a': it has not been initialized"):
        params["net_a"].data()
    params["net_a"].initialize()
    with pytest.raises(ValueError, match="'net_b': it is on no context"):
        params.reset_ctx(mx.cpu(1))
    assert params["net_a"].list_ctx() == [mx.cpu(0)]


def test_a_parameter_that_cannot_be_finished_still_waits():
    parameter = gluon.Parameter("w", shape=(0,), allow_deferred_init=True)
    parameter.initialize(mx.init.One())
    with pytest.raises(AssertionError, match="shape"):
        parameter._finish_deferred_init()
    parameter.shape = (2,)
    parameter._finish_deferred_init()
    assert parameter.data().asnumpy().tolist() == [1, 1]


def test_contents_that_wait_are_cast_too():
    parameter = gluon.Parameter("w", shape=(0,), allow_deferred_init=True)
    parameter.initialize()
    parameter.set_data(np.array([1, 2]))
    parameter.cast("float64")
    parameter._finish_deferred_init()
    assert parameter.data().dtype is np.float64
    assert parameter.data().asnumpy().tolist() == [1, 2]


# Copies


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_trained_by_themselves(copied):
    params = _ready(a=(2,))
    params["net_a"].grad_req = "add"
    _train(params["net_a"])
    other = copied(params)
    assert _train(other["net_a"], 5) == [8, 8]
    assert other["net_a"].data().asnumpy().tolist() == [1, 1]
    assert params["net_a"].grad().asnumpy().tolist() == [3, 3]
    assert other["net_a"].var() is not params["net_a"].var()


def test_a_shallow_copy_shares_arrays_and_gradients():
    parameter = _ready(a=(2,))["net_a"]
    with mx.autograd.record():
        y = (parameter.data() * 3).sum()
    other = copy.copy(parameter)
    y.backward()
    assert other.data() is parameter.data()
    assert other.grad() is parameter.grad()
    assert parameter.data()._fresh_grad
    assert other.grad().asnumpy().tolist() == [3, 3]


def test_an_array_that_was_loaded_stays_the_callers():
    values = mx.nd.ones((2,))
    params = _parameters(a=(0,), b=(2,))
    params["net_b"].initialize()
    params.load_dict({"net_a": values, "net_b": values})
    for parameter in params.values():
        parameter.data()[:] = 7
    assert values.asnumpy().tolist() == [1, 1]


def test_a_fresh_parameter_holds_its_buffer_alone():
    """So that the first update donates it."""
    parameter = gluon.Parameter("w_weight", shape=(3,))
    parameter.initialize()
    assert parameter.data().owns_buffer


# Files


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8"])
def test_element_types_survive_a_file(dtype, tmp_path):
    def params():
        new = gluon.ParameterDict("net_")
        new.get("w", shape=(2,), dtype=dtype)
        return new

    first, second = params(), params()
    first.initialize(mx.init.Constant(3))
    first.save(tmp_path / "x")
    second.load(tmp_path / "x", ctx=[mx.cpu(1), mx.cpu(0)])
    assert second["net_w"].data().dtype_name == dtype
    assert second["net_w"].list_ctx() == [mx.cpu(1), mx.cpu(0)]
    assert second["net_w"].data().asnumpy().tolist() == [3, 3]


# Speed


def test_contents_are_at_hand():
    """Every call of every layer asks for its parameters."""
    single = _ready(w=(2,))["net_w"]
    context, nothing = single.data().context, count_calls(lambda: None)
    assert count_calls(single.data) <= nothing + 1
    assert count_calls(single.data, context) <= nothing + 1


def test_names_are_looked_up_in_a_dictionary():
    params = _parameters(**{f"p{i}": (2,) for i in range(1000)})
    assert count_calls(params.get, "p999") <= 10
    assert count_calls(params.__contains__, "net_p999") <= 4


def test_initialization_records_nothing():
    parameter = gluon.Parameter("w", shape=(2,), allow_deferred_init=True)
    for scope in (nullcontext(), mx.autograd.record()):
        with scope:
            parameter.initialize(mx.init.One(), force_reinit=True)
            parameter.reset_ctx(mx.cpu(1))
            parameter.cast("float64")
            parameter.cast("float32")
            y = parameter.data().sum()
    y.backward()
    assert parameter.grad().asnumpy().tolist() == [1, 1]


def test_constants_of_users_initialize_a_checkpoint():
    """A symbol with a constant describes its value."""
    constant = gluon.Constant("c", [[1, 2]])
    y = mx.sym.broadcast_add(mx.sym.var("data"), constant.var())
    module = mx.mod.Module(mx.sym.load_json(y.tojson()), label_names=None)
    module.bind([("data", (2, 2))], for_training=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.init_params()
    (arguments, _) = module.get_params()
    assert arguments["c"].asnumpy().tolist() == [[1, 2]]


def test_large_constants_are_named_by_symbols():
    small, large = gluon.Constant("a", np.ones(9)), gluon.Constant("b", np.ones(9000))
    large.initialize()
    assert large.data().asnumpy().sum() == 9000
    assert small.var().attr("__init__").startswith('["constant", {"value": [1.0,')
    assert large.var().attr("__init__") == "Constant_b"
    assert small.init != large.init


def test_verbose_initialization_does_not_go_on(caplog):
    params = _parameters(w=(2,))
    with caplog.at_level("INFO"):
        params.initialize(verbose=True)
        assert "net_w" in caplog.text
        caplog.clear()
        params.initialize(force_reinit=True)
    assert not caplog.text


def test_copied_networks_are_trained_apart():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=2), gluon.nn.Dense(2))
    net.add(gluon.nn.Dense(2, params=net[0].params))
    net.initialize(mx.init.One())
    other, x = copy.deepcopy(net), mx.nd.ones((1, 2))
    assert other[0].weight is other[2].weight
    assert other(x).asnumpy().tolist() == net(x).asnumpy().tolist() == [[8, 8]]
    with mx.autograd.record():
        y = other(x).sum()
    y.backward()
    assert other[0].weight.grad().asnumpy().tolist() == [[8, 8], [8, 8]]
    assert net[0].weight.grad().asnumpy().tolist() == [[0, 0], [0, 0]]


def test_get_constant_without_a_value_finds_parameters_too():
    params = mx.gluon.ParameterDict("net_")
    weight = params.get("w", shape=(2,))
    assert params.get_constant("w") is weight
    with pytest.raises(AssertionError, match="is a parameter, not a constant"):
        params.get_constant("w", [1, 2])


def test_initializers_see_arrays_of_numpys_class_where_these_are_new():
    class Sparse(mx.init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = mx.np.arange(arr.size).reshape(arr.shape)
            arr *= mx.np.abs(arr) >= 2

    with mx.np_shape(), mx.np_array():
        net = gluon.nn.Dense(2, use_bias=False)
        net.initialize(Sparse())
        net(mx.np.ones((1, 2)))
        constant = gluon.Constant("c", [1, 2])
        constant.initialize()
    assert net.weight.data().asnumpy().tolist() == [[0, 0], [2, 3]]
    assert type(constant.value) is type(constant.data()) is mx.np.ndarray
