"""Symbols beyond the golden scripts: texts of errors, numbers of NumPy, namespaces, copies."""

from __future__ import annotations

import inspect
import json
import pickle

import numpy as np
import pytest

import executorkit as mx
from executorkit import ops
from executorkit.errors import AttributeValueError, InputTypeError, MXNetError
from executorkit.ops.schema import operator_registry
from executorkit.symbol.nesting import flatten

pytestmark = pytest.mark.smoke


def _x():
    return mx.sym.var("x")


def _fc(**kwargs):
    return mx.sym.FullyConnected(_x(), name="fc", **kwargs)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _fc(num_hidden=3, zz=1), AttributeValueError,
         "node 'fc': operator FullyConnected: unknown attribute 'zz' (value '1')\n"
         "  try: one of: num_hidden, no_bias, flatten"),
        (lambda: _fc(num_hidden="a"), AttributeValueError,
         "node 'fc': operator FullyConnected: num_hidden='a', expected a positive integer"),
        (lambda: _fc(), AttributeValueError,
         "node 'fc': operator FullyConnected: required attribute 'num_hidden' is not given, "
         "expected a positive integer"),
        (lambda: _fc(num_hidden=3, foo=_x()), MXNetError,
         "node 'fc' (FullyConnected): unknown input 'foo'\n  try: one of: data, weight, bias"),
        (lambda: mx.sym.FullyConnected(2, num_hidden=3), InputTypeError,  # type: ignore[reportArgumentType]
         "symbol input: 'data' is 2, expected a Symbol\n  try: wrap it in mx.sym.Variable"),
        (lambda: mx.sym.FullyConnected(np.ones((2, 3)), num_hidden=3), InputTypeError,  # type: ignore[reportArgumentType]
         "symbol input: 'data' is an array of shape (2, 3), expected a Symbol\n"
         "  try: mx.sym.Variable('data'), and the array where you bind or call forward"),
        (lambda: mx.sym.Concat([_x(), _x()], dim=1), InputTypeError,  # type: ignore[reportArgumentType]
         "symbol input: 'arg0' is a list of 2 symbols, expected a Symbol\n"
         "  try: the symbols one by one: *symbols"),
        (lambda: mx.sym.FullyConected(_x(), num_hidden=3), AttributeError,
         "module 'executorkit.symbol' has no attribute 'FullyConected'\n  try: 'FullyConnected'"),
        (lambda: mx.sym.relu(mx.sym.Group([_x(), mx.sym.var("y")])), MXNetError,
         "symbol input: 'data' is <Symbol group [x, y]>, which has 2 outputs, expected one\n"
         "  try: choose one, as in symbol[0]"),
        (lambda: mx.sym.Concat(_x(), _x(), num_args=1, name="c"), MXNetError,
         "node 'c' (Concat): got 2 inputs, takes 1"),
        (lambda: _fc(num_hidden=3)["fc"], ValueError,
         "<Symbol fc>: no output 'fc'\n  try: one of: fc_output"),
        (lambda: _fc(num_hidden=3).get_internals()["fc1_output"], ValueError,
         "<Symbol group [x, fc_weight, fc_bias, fc]>: no output 'fc1_output'\n"
         "  try: 'fc_output'"),
        (lambda: mx.sym.relu(_fc(num_hidden=3), name="act")["fc_output"], ValueError,
         "<Symbol act>: no output 'fc_output'\n  try: get_internals()['fc_output']"),
        (lambda: _fc(num_hidden=3)["zz"], ValueError,
         "<Symbol fc>: no output 'zz'\n  try: one of: fc_output"),
        (lambda: mx.sym.Group([_fc(num_hidden=3), _fc(num_hidden=3)])["fc_output"], ValueError,
         "<Symbol group [fc, fc]>: 2 outputs are called 'fc_output'\n  try: a number: 0, 1"),
        (lambda: _fc(num_hidden=3)(data=_x()), MXNetError,
         "<Symbol fc>: unknown variable 'data'\n  try: one of: x, fc_weight, fc_bias"),
        (lambda: mx.sym.var("x", foo=1), AttributeValueError,
         "variable 'x': unknown argument 'foo'\n  try: __foo__=1"),
        (lambda: mx.sym.var("x", stype="coo"), AttributeValueError,
         "variable 'x': stype='coo', expected one of default, row_sparse, csr"),
        (lambda: _x() + "a", TypeError, "symbol + str: expected a Symbol or a number"),
    ],
)  # fmt: skip
def test_message(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_inputs_that_are_no_symbols_are_three_errors_in_one():
    for error in (AssertionError, TypeError, MXNetError):
        with pytest.raises(error):
            mx.sym.relu(1)  # type: ignore[reportArgumentType]


def test_numpy_numbers_are_written_like_pythons():
    x = _x()
    assert (x + np.float32(0.5)).attr("scalar") == "0.5"
    assert (np.float64(2) * x).attr("scalar") == "2.0"
    assert (np.int64(2) - x).attr("scalar") == "2"
    symbol = mx.sym.reshape(x, shape=(np.int64(2), np.int32(3)))  # type: ignore[reportArgumentType]
    assert symbol.attr("shape") == "(2, 3)"
    assert mx.sym.var("y", shape=(np.int64(2),), lr_mult=np.float32(0.3)).attr("lr_mult") == "0.3"  # type: ignore[reportArgumentType]


def test_composition_by_position_follows_list_arguments():
    net = _x() * mx.sym.var("y")
    a, b = mx.sym.var("a"), mx.sym.var("b")
    assert net(a, b).list_arguments() == ["a", "b"]
    assert net(a).list_arguments() == ["a", "y"]
    assert net.list_arguments() == ["x", "y"]
    with pytest.raises(MXNetError, match="3 inputs given, there are 2"):
        net(a, b, a)


def test_copies_share_no_annotations():
    x = _x()
    net = x + 1
    twin = pickle.loads(pickle.dumps(net))
    x._set_attr(__a__="1")
    assert net.attr_dict()["x"] == {"__a__": "1"}
    assert "x" not in twin.attr_dict()


def test_set_attr_that_fails_changes_nothing():
    net = _fc(num_hidden=3)
    with pytest.raises(AttributeValueError):
        net._set_attr(__a__="1", num_hidden="q")
    assert net.list_attr() == {"num_hidden": "3"}


def test_functions_carry_the_signature_and_doc_of_the_operator():
    function = mx.sym.FullyConnected
    assert function.__name__ == "FullyConnected"
    assert "y = x W^T + b" in function.__doc__  # type: ignore[reportOperatorIssue]
    assert list(inspect.signature(function).parameters)[:4] == [
        "data", "weight", "bias", "num_hidden",
    ]  # fmt: skip
    assert mx.sym.FullyConnected is function


def test_namespaces_list_their_operators():
    assert {"FullyConnected", "relu", "Variable", "zeros"} <= set(dir(mx.sym))
    assert "_plus_scalar" in dir(mx.sym._internal)
    assert {"uniform", "normal"} <= set(dir(mx.sym.random))
    assert not hasattr(mx.sym, "_plus_scalar")
    assert not hasattr(mx.sym.contrib, "relu")
    with pytest.raises(AttributeError, match=r"'executorkit\.symbol' has no attribute 'Nope'"):
        _ = mx.sym.Nope


def test_an_operator_registered_later_is_available(monkeypatch):
    monkeypatch.setattr(operator_registry, "_OPS", dict(ops.all_names()))

    @ops.register("test_scale")
    def test_scale(data, *, by: float = 2.0):
        """data times ``by``."""
        return data * by

    assert mx.sym.test_scale(_x(), by=3).attr("by") == "3"
    del mx.sym.__dict__["test_scale"]


def test_casts_of_mixed_precision_are_left_out(monkeypatch):
    monkeypatch.setattr(operator_registry, "_OPS", dict(ops.all_names()))
    if ops.lookup("amp_cast") is None:

        @ops.register("amp_cast")
        def amp_cast(data, *, dtype: str):
            """A stand-in."""
            return data

    net = mx.sym.amp_cast(_x(), dtype="float16", name="ac") + 1
    mx.sym.__dict__.pop("amp_cast", None)
    assert "amp_cast" not in net.tojson()
    assert '"inputs": [[0, 0, 0]]' in net.tojson()
    assert "amp_cast" in net.tojson(remove_amp_cast=False)
    assert net.list_outputs() == mx.sym.load_json(net.tojson()).list_outputs()


def test_infer_shape_by_position_and_by_name():
    net = _fc(num_hidden=3)
    expected = ([(2, 4), (3, 4), (3,)], [(2, 3)], [])
    assert net.infer_shape(x=(2, 4)) == expected
    assert net.infer_shape((2, 4)) == expected
    with pytest.raises(ValueError, match="by position or by name"):
        net.infer_shape((2, 4), x=(2, 4))
    with pytest.raises(TypeError, match="4 given, but there are 3 arguments"):
        net.infer_shape(None, None, None, None)


def test_infer_shape_that_does_not_follow_warns_with_the_names():
    net = _fc(num_hidden=3)
    with pytest.warns(UserWarning, match="^shapes do not follow for x, fc_weight; give them$"):
        assert net.infer_shape(fc_bias=(3,)) == (None, None, None)
    assert net.infer_shape_partial(fc_bias=(3,))[0][2] == (3,)


def test_an_edited_node_is_inferred_anew():
    net = _fc(num_hidden=3)
    assert net.infer_shape(x=(2, 4))[1] == [(2, 3)]
    net._set_attr(num_hidden="5")
    assert net.infer_shape(x=(2, 4))[1] == [(2, 5)]


def test_infer_type():
    net = _fc(num_hidden=3)
    assert net.infer_type(x="float16") == ([np.float16] * 3, [np.float16], [])
    assert net.infer_type(np.float64) == ([np.float64] * 3, [np.float64], [])
    with pytest.warns(UserWarning, match="^types do not follow for x, fc_weight, fc_bias"):
        assert net.infer_type() == (None, None, None)
    assert net.infer_type_partial() == ([None] * 3, [None], [])


def test_backends_of_mxnet_leave_the_symbol_as_it_is():
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    for symbol in (net.get_backend_symbol("MKLDNN"), net.optimize_for("anything", ctx=mx.cpu())):
        assert symbol is not net
        assert symbol.tojson() == net.tojson()
    with pytest.raises(mx.MXNetError, match="unknown backend 'TensorRT'"):
        net.get_backend_symbol("TensorRT")
    with pytest.raises(AssertionError, match="backend is 3"):
        net.optimize_for(3)  # type: ignore[arg-type]


def test_a_scalar_is_declared_under_numpy_semantics():
    scalar = mx.sym.var("s", shape=())
    with mx.util.np_shape(True):
        assert (scalar + 1).infer_shape() == ([()], [()], [])
    with pytest.warns(UserWarning, match="do not follow for s"):
        assert (scalar + 1).infer_shape() == (None, None, None)


class TestAtomicSymbol:
    """The operator of a symbol alone, as MXNet's ``_gen_atomic_symbol`` gives it."""

    def test_it_has_neither_name_nor_inputs(self):
        atomic = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3)._gen_atomic_symbol()
        assert (atomic.name, atomic.list_arguments()) == ("", [])
        assert atomic.list_outputs() == ["output"]
        assert atomic.list_attr() == {"num_hidden": "3"}
        assert [node["op"] for node in json.loads(atomic.tojson())["nodes"]] == ["FullyConnected"]

    def test_it_has_all_outputs(self):
        second = mx.sym.split(mx.sym.var("x"), num_outputs=2)[1]
        assert second._gen_atomic_symbol().list_outputs() == ["output0", "output1"]

    def test_a_call_gives_it_inputs_and_a_name(self):
        sine = mx.sym.sin(mx.sym.var("x"))._gen_atomic_symbol()
        named = sine(mx.sym.var("z"), name="n")
        assert (named.list_arguments(), named.list_outputs()) == (["z"], ["n_output"])
        assert sine(data=mx.sym.var("z")).list_outputs() == ["output"]
        assert sine.list_arguments() == []
        total = (mx.sym.var("x") + mx.sym.var("y"))._gen_atomic_symbol()
        assert total(mx.sym.var("p"), mx.sym.var("q")).list_arguments() == ["p", "q"]
        values = total(mx.sym.var("p"), mx.sym.var("q")).eval(p=mx.nd.ones(2), q=mx.nd.ones(2))
        assert values[0].asnumpy().tolist() == [2, 2]

    def test_of_an_operator_with_states(self):
        atomic = mx.sym.BatchNorm(mx.sym.var("x"))._gen_atomic_symbol()
        assert atomic.list_auxiliary_states() == []
        norm = atomic(data=mx.sym.var("z"), name="n")
        assert norm.list_auxiliary_states() == ["n_moving_mean", "n_moving_var"]

    def test_of_one_operator_only(self):
        with pytest.raises(mx.MXNetError, match="is a group, expected one operator"):
            mx.sym.Group([mx.sym.var("x"), mx.sym.var("y")])._gen_atomic_symbol()
        with pytest.raises(mx.MXNetError, match="is a variable, expected one operator"):
            mx.sym.var("x")._gen_atomic_symbol()


def test_attached_methods_take_variables_of_any_name():
    net = mx.sym.Variable("self") + mx.sym.Variable("symbol")
    assert net.infer_shape(self=(2, 3))[1] == [(2, 3)]
    assert net.infer_type(symbol="float16")[1] == [np.float16]
    executor = net.simple_bind(mx.cpu(), self=(2,))
    assert list(executor.arg_dict) == ["self", "symbol"]
    (total,) = net.eval(self=mx.nd.ones((2,)), symbol=mx.nd.ones((2,)))
    assert total.asnumpy().tolist() == [2, 2]


def test_leaves_of_nested_lists():
    assert flatten([1, (2, [3]), []]) == [1, 2, 3]
