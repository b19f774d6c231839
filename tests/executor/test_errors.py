"""Wrong inputs: the whole message, the class, and every array as it was."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx

CPU = mx.cpu()


def _net():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), name="out")


def _args(**other):
    arguments = {
        "data": mx.nd.ones((4, 5)),
        "fc_weight": mx.nd.ones((3, 5)),
        "fc_bias": mx.nd.ones(3),
        "label": mx.nd.zeros(4),
        **other,
    }
    return {name: array for name, array in arguments.items() if array is not None}


def _bind(args=None, *positional, **kwargs):
    return _net().bind(CPU, _args() if args is None else args, *positional, **kwargs)


def _norm(aux):
    args = {"x": mx.nd.ones((2, 3)), "bn_gamma": mx.nd.ones(3), "bn_beta": mx.nd.ones(3)}
    return mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn").bind(CPU, args, aux_states=aux)


def _two_layers(name):
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name=name)
    return mx.sym.FullyConnected(first, num_hidden=3, name=name)


def _two_norms(name):
    first = mx.sym.BatchNorm(
        mx.sym.Variable("data"), mx.sym.Variable("g1"), mx.sym.Variable("b1"), name=name
    )
    return mx.sym.BatchNorm(first, mx.sym.Variable("g2"), mx.sym.Variable("b2"), name=name)


def _grouped():
    with mx.AttrScope(ctx_group="far"):
        return mx.sym.sin(mx.sym.Variable("x"), name="s")


def _simple(**kwargs):
    return _net().simple_bind(CPU, **kwargs)


def _executor():
    executor = _simple(data=(4, 5))
    for i, array in enumerate([*executor.arg_arrays, *executor.grad_arrays]):
        array[:] = i + 1
    return executor


def _twice():
    net = mx.sym.Variable("a", shape=(2,)) * 2
    executor = net.simple_bind(CPU)
    executor.forward(is_train=True)
    return executor


def _two_outputs():
    a = mx.sym.Variable("a", shape=(2,))
    executor = mx.sym.Group([mx.sym.sin(a, name="s"), mx.sym.cos(a, name="c")]).simple_bind(CPU)
    executor.forward(is_train=True)
    return executor


#: name -> (what is called, classes of the error, its text)
BIND = {
    "missing argument": (
        lambda: _bind(_args(fc_weight=None, label=None)),
        (ValueError, mx.base.MXNetError),
        """\
bind: args: no array for 'fc_weight', 'label'
  given by: a dict with 'data', 'fc_bias'
  try: add 'fc_weight' to args, or let simple_bind make the arrays""",
    ),
    "short list": (
        lambda: _bind([mx.nd.ones((4, 5))]),
        (ValueError,),
        "bind: args: 1 array, expected 4: data, fc_weight, fc_bias, label",
    ),
    "long list": (
        lambda: _bind([mx.nd.ones(1)] * 5),
        (ValueError,),
        "bind: args: 5 arrays, expected 4: data, fc_weight, fc_bias, label",
    ),
    "numpy": (
        lambda: _bind(_args(data=np.ones((4, 5)))),
        (TypeError,),
        """\
bind: args['data']: a numpy.ndarray, expected an NDArray
  try: mx.nd.array(value)""",
    ),
    "number": (
        lambda: _bind(3),
        (TypeError,),
        "bind: args: an int, expected a list or a dict of NDArray",
    ),
    "nothing": (
        lambda: _net().bind(CPU, None),
        (TypeError,),
        "bind: args: None, expected a list or a dict of NDArray",
    ),
    "text": (
        lambda: _bind("data"),
        (TypeError,),
        "bind: args: a str, expected a list or a dict of NDArray",
    ),
    "weight's shape": (
        lambda: _bind(_args(fc_weight=mx.nd.ones((3, 6)))),
        (ValueError, mx.base.MXNetError),
        """\
node 'fc' (FullyConnected): 'weight' is (3, 6), expected (3, 5)
  because num_hidden=3 and data is (4, 5), flattened to 5
  given by: args['fc_weight']
  try: an array of (3, 5)""",
    ),
    "label's shape": (
        lambda: _bind(_args(label=mx.nd.ones(5))),
        (ValueError,),
        """\
node 'out' (SoftmaxOutput): 'label' is (5,), expected (4,)
  because data is (4, 3) and multi_output=False
  given by: args['label']
  try: an array of (4,)""",
    ),
    "dtype": (
        lambda: _bind(_args(fc_weight=mx.nd.ones((3, 5), dtype="int32"))),
        (TypeError, mx.base.MXNetError),
        """\
node 'fc' (FullyConnected): 'weight' is int32, expected float32
  given by: args['fc_weight']
  try: an array of float32""",
    ),
    "context": (
        lambda: _bind(_args(label=mx.nd.ones(4, ctx=mx.cpu(1)))),
        (ValueError, mx.base.MXNetError),
        """\
bind: args['label']: it is in cpu(1), expected cpu(0)
  because arrays are in the context that is bound to, or in their ctx_group's, and \
gradients beside their arguments
  try: label.as_in_context(mx.cpu(0))""",
    ),
    "no context": (
        lambda: _net().bind("cpu", _args()),  # type: ignore[arg-type]
        (TypeError,),
        """\
bind: ctx: 'cpu' is not a Context
  try: mx.cpu(), mx.gpu(0) or mx.tpu(0)""",
    ),
    "grad_req": (
        lambda: _bind(grad_req="writes"),
        (ValueError,),
        "bind: grad_req of 'data': 'writes', expected one of null, write, add",
    ),
    "grad_req in a dict": (
        lambda: _bind(grad_req={"label": 1}),
        (ValueError,),
        "bind: grad_req of 'label': 1, expected one of null, write, add",
    ),
    "short grad_req": (
        lambda: _bind(grad_req=["write"]),
        (ValueError,),
        "bind: grad_req: 1 for 4 arguments: data, fc_weight, fc_bias, label",
    ),
    "grad_req of another kind": (
        lambda: _bind(grad_req=3),
        (ValueError,),
        "bind: grad_req: 3, expected a text, a list or a dict of them",
    ),
    "gradient's shape": (
        lambda: _bind(None, {"fc_weight": mx.nd.ones((5, 3))}),
        (ValueError,),
        """\
bind: args_grad['fc_weight']: shape (5, 3), expected (3, 5)
  because that is the shape of argument 'fc_weight'""",
    ),
    "gradient's dtype": (
        lambda: _bind(None, {"fc_weight": mx.nd.ones((3, 5), dtype="float64")}),
        (TypeError, mx.base.MXNetError),
        """\
bind: args_grad['fc_weight']: float64, expected float32
  because that is the type of argument 'fc_weight'""",
    ),
    "gradient in NumPy": (
        lambda: _bind(None, {"fc_weight": np.ones((3, 5))}),
        (TypeError,),
        """\
bind: args_grad['fc_weight']: a numpy.ndarray, expected an NDArray
  try: mx.nd.array(value)""",
    ),
    "gradient's context": (
        lambda: _bind(None, {"fc_bias": mx.nd.ones(3, ctx=mx.cpu(1))}),
        (ValueError,),
        """\
bind: args_grad['fc_bias']: it is in cpu(1), expected cpu(0)
  because arrays are in the context that is bound to, or in their ctx_group's, and \
gradients beside their arguments
  try: fc_bias.as_in_context(mx.cpu(0))""",
    ),
    "short gradients": (
        lambda: _bind(None, [mx.nd.ones(3)]),
        (ValueError,),
        "bind: args_grad: 1 array, expected 4: data, fc_weight, fc_bias, label",
    ),
    "missing states": (
        lambda: _norm(None),
        (ValueError,),
        """\
bind: aux_states: no array for 'bn_moving_mean', 'bn_moving_var'
  given by: a dict with no entries
  try: add 'bn_moving_mean' to aux_states, or let simple_bind make the arrays""",
    ),
    "state's shape": (
        lambda: _norm([mx.nd.ones(3), mx.nd.ones(4)]),
        (ValueError,),
        """\
node 'bn' (BatchNorm): 'moving_var' is (4,), expected (3,)
  because data is (2, 3) and axis=1
  given by: aux_states['bn_moving_var']
  try: an array of (3,)""",
    ),
    "no context for a group": (
        lambda: _grouped().simple_bind(CPU, group2ctx={"near": CPU}, x=(2,)),
        (mx.base.MXNetError,),
        """\
node 'x': its ctx_group 'far' has no context
  given by: group2ctx with 'near'
  try: add 'far' to group2ctx""",
    ),
    "a group without a context": (
        lambda: _grouped().simple_bind(CPU, group2ctx={"far": 3}, x=(2,)),
        (TypeError,),
        """\
bind: group2ctx['far']: 3 is not a Context
  try: mx.cpu(), mx.gpu(0) or mx.tpu(0)""",
    ),
    "outside the group's context": (
        lambda: _grouped().bind(CPU, [mx.nd.ones(2)], group2ctx={"far": mx.cpu(1)}),
        (ValueError,),
        """\
bind: args['x']: it is in cpu(0), expected cpu(1)
  because arrays are in the context that is bound to, or in their ctx_group's, and \
gradients beside their arguments
  try: x.as_in_context(mx.cpu(1))""",
    ),
    "eval without its argument": (
        lambda: (mx.sym.Variable("a") * 2).eval(),
        (ValueError,),
        """\
bind: args: no array for 'a'
  given by: a dict with no entries
  try: add 'a' to args, or let simple_bind make the arrays""",
    ),
    "simple_bind of nothing": (
        lambda: _simple(),
        (RuntimeError,),
        """\
simple_bind: these shapes cannot be inferred: data: unknown, fc_weight: (3, ?), label: unknown, \
out_output: unknown
  given by: no shapes
  try: give their shapes as keyword arguments""",
    ),
    "simple_bind with another name": (
        lambda: _simple(dat=(4, 5)),
        (RuntimeError,),
        """\
simple_bind: these shapes cannot be inferred: data: unknown, fc_weight: (3, ?), label: unknown, \
out_output: unknown
  because 'dat' is not an argument of the symbol
  given by: dat=(4, 5)
  try: 'data'""",
    ),
    "simple_bind of a part": (
        lambda: _simple(data=(0, 5)),
        (RuntimeError,),
        """\
simple_bind: these shapes cannot be inferred: data: (?, 5), label: (?,), out_output: (?, 3)
  given by: data=(0, 5)
  try: give their shapes as keyword arguments""",
    ),
    "simple_bind of a contradiction": (
        lambda: _simple(data=(4, 5), fc_weight=(3, 6)),
        (RuntimeError, ValueError),
        """\
node 'fc' (FullyConnected): 'weight' is (3, 6), expected (3, 5)
  because num_hidden=3 and data is (4, 5), flattened to 5
  given by: argument 'fc_weight'
  try: give 'fc_weight' as (3, 5), or leave it out to have it inferred""",
    ),
    "simple_bind of no shape": (
        lambda: _simple(data=4),
        (RuntimeError,),
        """\
simple_bind: these shapes cannot be inferred: data: unknown, fc_weight: (3, ?), label: unknown, \
out_output: unknown
  because data=4 is not a shape
  given by: no shapes
  try: give their shapes as keyword arguments""",
    ),
    "simple_bind of texts": (
        lambda: _simple(data=("a", 5)),
        (RuntimeError, ValueError),
        "simple_bind: 'data': ('a', 5) is not a shape, expected a tuple of integers",
    ),
    "unknown dtype": (
        lambda: _simple(type_dict={"data": "foo"}, data=(4, 5)),
        (RuntimeError, TypeError),
        "simple_bind: type_dict['data']: unknown dtype 'foo'; expected one of float32, float64, "
        "float16, uint8, int32, int8, int64, bool, int16, uint16, uint32, uint64, bfloat16",
    ),
    "contradicting dtypes": (
        lambda: _simple(type_dict={"data": "float16", "fc_weight": "float32"}, data=(4, 5)),
        (RuntimeError, TypeError),
        """\
node 'fc' (FullyConnected): 'weight' is float32, expected float16
  given by: argument 'fc_weight'
  try: give 'fc_weight' as float16, or leave it out to have it inferred""",
    ),
    "sparse storage": (
        lambda: _simple(stype_dict={"data": "csr"}, data=(4, 5)),
        (ValueError,),
        """\
simple_bind: stype_dict: data='csr', expected 'default'
  because sparse storage is not served""",
    ),
    "shared argument's shape": (
        lambda: _simple(shared_arg_names=["fc_weight"], shared_exec=_executor(), data=(4, 6)),
        (ValueError,),
        "simple_bind: shared argument 'fc_weight': shared_exec has float32 (3, 5), expected "
        "float32 (3, 6)",
    ),
    "shared argument that is not there": (
        lambda: (mx.sym.Variable("q") * 2).simple_bind(
            CPU, shared_arg_names=["q"], shared_exec=_executor(), q=(4,)
        ),
        (ValueError,),
        "simple_bind: shared argument 'q': shared_exec has no such argument, expected float32 (4,)",
    ),
    "shape inside a graph": (
        lambda: mx.sym.broadcast_add(
            mx.sym.sin(mx.sym.Variable("x")), mx.sym.Variable("y"), name="both"
        ).simple_bind(CPU, x=(2, 3), y=(2, 4)),
        (ValueError,),
        "node 'both' (broadcast_add): lhs (2, 3) and rhs (2, 4) do not broadcast together",
    ),
    "repeated argument names": (
        lambda: (
            (mx.sym.Variable("a") + mx.sym.Variable("a")).bind(CPU, [mx.nd.ones(2)] * 2).arg_dict
        ),
        (ValueError,),
        """\
executor: arguments share a name: 'a'
  try: use the list of arrays, or give the variables different names""",
    ),
    "repeated variable names": (
        lambda: (mx.sym.Variable("a") + mx.sym.Variable("a")).simple_bind(CPU, a=(2,)),
        (ValueError,),
        """\
simple_bind: arguments share a name: 'a'
  because several variables are called 'a'
  try: create the variable once and pass it to each layer that shares it""",
    ),
    "repeated variable names without shapes": (
        lambda: (mx.sym.Variable("a") + mx.sym.Variable("a")).simple_bind(CPU),
        (RuntimeError,),
        """\
simple_bind: these shapes cannot be inferred: a: unknown, a: unknown, _plus0_output: unknown
  given by: no shapes
  try: give their shapes as keyword arguments""",
    ),
    "repeated variable names with other shapes": (
        lambda: (
            mx.sym.dot(mx.sym.Variable("a"), mx.sym.Variable("b"), name="product")
            + mx.sym.Variable("a")
        ).simple_bind(CPU, a=(2, 3), b=(2, 4)),
        (RuntimeError,),
        """\
node 'product' (dot): 'rhs' is (2, 4), expected (3, 4)
  because axis 1 of lhs (2, 3) and axis 0 of rhs are summed over
  given by: argument 'b'
  try: give 'b' as (3, 4), or leave it out to have it inferred""",
    ),
    "repeated layer names": (
        lambda: _two_layers("fc").simple_bind(CPU, data=(2, 3)),
        (ValueError,),
        """\
simple_bind: arguments share a name: 'fc_bias', 'fc_weight'
  because several layers are called 'fc'
  try: give each layer a name of its own (name=...), or none""",
    ),
    "repeated names of auxiliary states": (
        lambda: _two_norms("bn").simple_bind(CPU, data=(2, 3)),
        (ValueError,),
        """\
simple_bind: auxiliary states share a name: 'bn_moving_mean', 'bn_moving_var'
  because several layers are called 'bn'
  try: give each layer a name of its own (name=...), or none""",
    ),
}

RUN = {
    "unknown argument": (
        lambda e: e.forward(dat=mx.nd.ones(3)),
        (TypeError,),
        """\
forward: unknown argument 'dat'
  try: 'data'""",
    ),
    "unknown argument that is no array": (
        lambda e: e.forward(dat=3),
        (ValueError,),
        "forward: 'dat': an int, expected an NDArray, a NumPy or a JAX array",
    ),
    "argument's shape": (
        lambda e: e.forward(fc_bias=mx.nd.zeros(3), data=mx.nd.ones((4, 6))),
        (ValueError,),
        "forward: 'data': shape (4, 6), expected (4, 5)",
    ),
    "an array for a flag": (
        lambda e: e.forward(np.ones((4, 5))),
        (TypeError,),
        """\
forward: is_train: a numpy.ndarray, expected True or False
  try: give arrays by name: forward(is_train=False, data=...)""",
    ),
    "another batch size": (
        lambda e: e.forward(data=mx.nd.ones((7, 5))),
        (ValueError,),
        """\
forward: 'data': shape (7, 5), expected (4, 5)
  try: executor.reshape(allow_up_sizing=True, data=(7, 5), ...)""",
    ),
    "argument as a list": (
        lambda e: e.forward(fc_bias=mx.nd.zeros(3), data=[1, 2]),
        (ValueError,),
        "forward: 'data': a list, expected an NDArray, a NumPy or a JAX array",
    ),
    "argument None": (
        lambda e: e.forward(data=None),
        (ValueError,),
        "forward: 'data': None, expected an NDArray, a NumPy or a JAX array",
    ),
    "argument of texts": (
        lambda e: e.forward(label=np.array(["a", "b", "c", "d"])),
        (TypeError,),
        """\
forward: 'label': array(['a', 'b', 'c', 'd'], dtype='<U1') (ndarray) is not an array of float32
  try: a number, a regular nested list, a NumPy array or an NDArray""",
    ),
    "unknown parameter": (
        lambda e: e.copy_params_from({"fc_bias": mx.nd.zeros(3), "zz": mx.nd.ones(2)}),
        (ValueError,),
        """\
copy_params_from: 'zz' is not an argument of this symbol
  given by: a dict with 'fc_bias', 'zz'
  try: allow_extra_params=True to skip such names""",
    ),
    "parameter with a misspelt name": (
        lambda e: e.copy_params_from({"fc_wieght": mx.nd.ones((3, 5))}),
        (ValueError,),
        """\
copy_params_from: 'fc_wieght' is not an argument of this symbol
  given by: a dict with 'fc_wieght'
  try: 'fc_weight', or allow_extra_params=True to skip such names""",
    ),
    "unknown state": (
        lambda e: e.copy_params_from({"fc_bias": mx.nd.zeros(3)}, {"zz": mx.nd.ones(2)}),
        (ValueError,),
        """\
copy_params_from: 'zz' is not an auxiliary state of this symbol
  given by: a dict with 'zz'
  try: allow_extra_params=True to skip such names""",
    ),
    "parameter's shape": (
        lambda e: e.copy_params_from({"data": mx.nd.zeros((4, 5)), "fc_bias": mx.nd.ones(4)}),
        (ValueError, mx.base.MXNetError),
        "copy_params_from: argument 'fc_bias': shape (4,), expected (3,)",
    ),
    "parameter that is a number": (
        lambda e: e.copy_params_from({"fc_bias": 3.0}),
        (TypeError,),
        """\
copy_params_from: argument 'fc_bias': a float, expected an NDArray, a NumPy or a JAX array
  try: mx.nd.array(value)""",
    ),
    "no parameters": (
        lambda e: e.copy_params_from(None),
        (TypeError,),
        "copy_params_from: None, expected a dict of NDArray",
    ),
    "reshape that grows": (
        lambda e: e.reshape(data=(8, 5), label=(8,)),
        (mx.base.MXNetError,),
        """\
reshape: 'data': it grows from (4, 5) to (8, 5)
  because memory is shared with the smaller array
  try: bind the largest shape first, or pass allow_up_sizing=True""",
    ),
    "reshape of parameters": (
        lambda e: e.reshape(data=(4, 3)),
        (mx.base.MXNetError,),
        """\
reshape: 'fc_weight': its shape changes from (3, 5) to (3, 3), but it is not named
  because a parameter of another shape would no longer be shared
  try: give fc_weight=(3, 3), or pass partial_shaping=True""",
    ),
    "reshape of an unknown name": (
        lambda e: e.reshape(zz=(1,)),
        (mx.base.MXNetError,),
        """\
reshape: unknown argument 'zz'
  try: one of: data, fc_weight, fc_bias, label""",
    ),
    "reshape to a contradiction": (
        lambda e: e.reshape(data=(2, 5), label=(3,)),
        (mx.base.MXNetError,),
        """\
node 'out' (SoftmaxOutput): 'label' is (3,), expected (2,)
  because data is (2, 3) and multi_output=False
  given by: argument 'label'
  try: give 'label' as (2,), or leave it out to have it inferred""",
    ),
    "reshape to no shape": (
        lambda e: e.reshape(data=3),
        (mx.base.MXNetError, ValueError),
        "reshape: 'data': 3 is not a shape, expected a tuple of integers",
    ),
    "reshape to an open shape": (
        lambda e: e.reshape(data=(0, 5)),
        (mx.base.MXNetError,),
        """\
reshape: 'data': its new shape does not follow from the shapes given
  given by: data=(0, 5)
  try: give data=...""",
    ),
    "unknown internal": (
        lambda e: e.internals(["fc_output", "zz"]),
        (mx.base.MXNetError,),
        """\
internals: no output named 'zz'
  try: symbol.get_internals().list_outputs() lists the names""",
    ),
    "no callback": (
        lambda e: e.set_monitor_callback(3),
        (TypeError,),
        "set_monitor_callback: an int, expected a function of a name and an NDArray",
    ),
}

HEADS = {
    "missing": (
        None,
        (mx.base.MXNetError,),
        """\
backward: output '_mulscalar0_output': it needs a head gradient, and none is given
  because it is not the output of a loss operator
  try: backward(out_grads=...), or wrap the output in mx.sym.MakeLoss""",
    ),
    "shape": (
        mx.nd.ones(3),
        (mx.base.MXNetError, ValueError),
        "backward: head gradient of '_mulscalar0_output': shape (3,), expected (2,)",
    ),
    "numpy": (
        np.ones(2),
        (TypeError,),
        """\
backward: out_grads: a numpy.ndarray, expected an NDArray, or a list or dict of them
  try: mx.nd.array(value)""",
    ),
    "numpy inside": (
        [np.ones(2)],
        (TypeError,),
        """\
backward: head gradient of '_mulscalar0_output': a numpy.ndarray, expected an NDArray
  try: mx.nd.array(value)""",
    ),
    "another name": (
        {"zz": mx.nd.ones(2)},
        (KeyError,),
        """\
backward: out_grads: 'zz' is not an output
  try: one of: _mulscalar0_output""",
    ),
}


def _refused(action, classes, text):
    with pytest.raises(classes[0]) as caught:
        action()
    assert str(caught.value) == text
    assert all(isinstance(caught.value, kind) for kind in classes)


@pytest.mark.parametrize("name", BIND)
def test_binding(name):
    action, classes, text = BIND[name]
    with mx.name.NameManager():
        _refused(action, classes, text)


@pytest.mark.parametrize("name", RUN)
def test_running_leaves_every_array_as_it_was(name):
    action, classes, text = RUN[name]
    executor = _executor()
    arrays = [*executor.arg_arrays, *executor.grad_arrays, *executor.outputs]
    before = [a.asnumpy() for a in arrays]
    _refused(lambda: action(executor), classes, text)
    for array, value in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array.asnumpy(), value)


@pytest.mark.parametrize("name", HEADS)
def test_head_gradients_leave_every_array_as_it_was(name):
    heads, classes, text = HEADS[name]
    with mx.name.NameManager():
        executor = _twice()
    executor.grad_arrays[0][:] = 7
    _refused(lambda: executor.backward(heads), classes, text)
    assert executor.grad_arrays[0].asnumpy().tolist() == [7, 7]
    executor.backward(mx.nd.ones(2))
    assert executor.grad_arrays[0].asnumpy().tolist() == [2, 2]


def test_the_second_head_gradient_is_missed_by_name():
    _refused(
        lambda: _two_outputs().backward(mx.nd.ones(2)),
        (mx.base.MXNetError,),
        """\
backward: output 'c_output': it needs a head gradient, and none is given
  because it is not the output of a loss operator
  try: backward(out_grads=...), or wrap the output in mx.sym.MakeLoss""",
    )


def test_repeated_output_names_are_refused_by_name_only():
    a = mx.sym.Variable("a")
    both = mx.sym.Group([mx.sym.sin(a, name="f"), mx.sym.cos(a, name="f")])
    executor = both.bind(CPU, [mx.nd.ones(2)])
    assert len(executor.forward()) == 2
    _refused(
        lambda: executor.output_dict,
        (ValueError,),
        """\
executor: outputs share a name: 'f_output'
  try: use the list of arrays, or give the variables different names""",
    )


def test_a_refused_simple_bind_leaves_the_shared_buffer_alone():
    buffer = {"data": mx.nd.ones((2, 2))}
    with pytest.raises(RuntimeError):
        _net().simple_bind(CPU, shared_buffer=buffer, data=(0, 5))
    assert list(buffer) == ["data"]
    assert buffer["data"].asnumpy().tolist() == [[1, 1], [1, 1]]


def test_arguments_of_other_names_are_ignored():
    executor = _bind(_args(zz=mx.nd.ones(7)))
    assert executor.forward()[0].shape == (4, 3)
    assert _simple(data=(4, 5), zz=(1,)).outputs[0].shape == (4, 3)
