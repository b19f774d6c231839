"""Small scripts that build symbols, run with MXNet as ``mx`` once and with executorkit ever after.

``GRAPHS`` return a symbol, whose every text is compared; ``VALUES`` return something comparable;
``ERRORS`` must raise, and the class is compared. Old and odd files are in ``DOCUMENTS``.
"""

from __future__ import annotations

import json

GRAPHS = {}
VALUES = {}
ERRORS = {}


def graph(function):
    GRAPHS[function.__name__] = function
    return function


def _mlp(mx):
    data = mx.sym.Variable("data")
    fc1 = mx.sym.FullyConnected(data, name="fc1", num_hidden=16)
    act = mx.sym.Activation(fc1, name="relu1", act_type="relu")
    fc2 = mx.sym.FullyConnected(act, name="fc2", num_hidden=4)
    return mx.sym.SoftmaxOutput(fc2, name="softmax")


@graph
def mlp(mx):
    return _mlp(mx)


@graph
def convolution(mx):
    x = mx.sym.Variable("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True, name="conv0")
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn0")
    x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.Flatten(x)
    return mx.sym.LeakyReLU(x, act_type="prelu")


@graph
def given_statistics(mx):
    x, mean, var = mx.sym.var("x"), mx.sym.var("mean"), mx.sym.var("variance", init="ones")
    return mx.sym.BatchNorm(x, moving_mean=mean, moving_var=var, name="bn")


@graph
def shared_statistics(mx):
    x, mean = mx.sym.var("x"), mx.sym.var("mean")
    a = mx.sym.BatchNorm(x, moving_mean=mean, name="a")
    b = mx.sym.BatchNorm(a, moving_mean=mean, name="b")
    return mx.sym.Group([b, mean + 1])


@graph
def operators_between_symbols(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    parts = [x + y, x - y, x * y, x / y, x % y, x**y, x == y, x != y, x > y, x >= y, x < y, x <= y]
    return mx.sym.Group([*parts, -x, abs(x)])


@graph
def operators_with_numbers(mx):
    x = mx.sym.var("x")
    parts = [x + 1, 1 + x, x - 1, 1 - x, x * 2, 2 * x, x / 2, 2 / x, x % 2, 2 % x, x**2, 2**x]
    parts += [x == 1, x != 1, x > 1, x >= 1, x < 1, x <= 1, 1 < x, x + 0.5, x * -1e-07]  # noqa: SIM300
    return mx.sym.Group(parts)


@graph
def functions_of_two(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    s = mx.sym
    parts = [s.pow(x, y), s.pow(x, 2), s.pow(2, x), s.maximum(x, y), s.maximum(2, x)]
    parts += [s.maximum(x, 2), s.minimum(x, 1), s.minimum(x, y), s.hypot(x, y), s.hypot(3, x)]
    return mx.sym.Group(parts)


@graph
def creation(mx):
    s = mx.sym
    parts = [s.zeros((2, 3)), s.zeros(3, dtype="int32", name="z"), s.ones((2, 0)), s.full((2,), 3)]
    parts += [s.arange(3), s.arange(1, 5, 2, repeat=2, name="ar", dtype="int32")]
    parts += [s.eye(3), s.eye(3, 2, 1, name="e"), s.linspace(0, 1, 5)]
    return mx.sym.Group(parts)


@graph
def random_numbers(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    r = mx.sym.random
    parts = [r.uniform(), r.uniform(0, 1, (2, 3), name="u"), r.uniform(x, y), r.normal(x, y, 2)]
    parts += [r.normal(0, 2, shape=(2,), dtype="float64"), mx.sym.random_uniform(shape=(2,))]
    parts += [r.randn(2, 3), r.gamma(2, 3), r.exponential(2), r.poisson(3, (2,)), r.randint(0, 3)]
    parts += [r.negative_binomial(1, 0.5), r.generalized_negative_binomial(1, 1)]
    return mx.sym.Group(parts)


@graph
def methods(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    parts = [x.reshape((2, 3)), x.reshape(shape=(1,), name="q"), x.sum(), x.sum(axis=1)]
    parts += [x.sum(0, True), x.astype("float16"), x.flatten(), x.slice_axis(0, 0, 1), x.exp()]
    parts += [x.expand_dims(0), x.squeeze(), x.diag(), x.clip(0, 1), x.swapaxes(1, 0), x.relu()]
    parts += [x.broadcast_to((2,)), x.reshape_like(y), x.transpose(), x.tile((2,)), x.repeat(2)]
    parts += [x.max(axis=(0, 1)), x.norm(), x.one_hot(3), x.take(y), x.pick(y), x.zeros_like()]
    parts += [x.flip(axis=1), x.softmax(), x.sigmoid(), x.slice((0,), (1,)), x.topk()]
    return mx.sym.Group(parts)


@graph
def several_outputs(mx):
    parts = mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=3, name="sp")
    return mx.sym.Group([parts[2], parts, parts["sp_output1"] + 1])


@graph
def split_method(mx):
    return mx.sym.var("x").split(num_outputs=2, axis=0)


@graph
def many_inputs(mx):
    return mx.sym.Concat(*[mx.sym.var(f"a{i}") for i in range(12)], dim=0, name="cat")


@graph
def inputs_by_keyword(mx):
    return mx.sym.Concat(arg1=mx.sym.var("b"), arg0=mx.sym.var("a"), name="cat")


@graph
def inputs_that_are_missing(mx):
    s = mx.sym
    cat = s.Concat(s.var("x"), s.var("y"), num_args=3, name="cat")
    return s.Group([cat, s.FullyConnected(num_hidden=3, name="fc"), s.dot(s.var("x"), name="d")])


@graph
def positional_attributes(mx):
    x = mx.sym.var("x")
    fc = mx.sym.FullyConnected(x, None, None, 3, name="f")
    return mx.sym.sum(fc, 1, True, False, "nm", {"__a__": "1"})


@graph
def attribute_values(mx):
    s, x = mx.sym, mx.sym.var("x")
    parts = [s.sum(x, axis=None), s.softmax(x, dtype=None), s.cast(x, dtype=float)]
    parts += [s.cast(x, dtype="int"), s.Convolution(x, kernel=[3, 3], num_filter=3)]
    parts += [s.Dropout(x, p=0.25), s.relu(x, foo=1), s.LinearRegressionOutput(x, zz=1)]
    return s.Group(parts)


@graph
def annotations(mx):
    x = mx.sym.var("x", shape=(1, 2), lr_mult=0.1, wd_mult=2, dtype="float16", stype="csr")
    x = mx.sym.FullyConnected(x, num_hidden=3, lr_mult=2, ctx_group="dev1", __zz__="1", name="f")
    return mx.sym.BatchNorm(x, attr={"__a__": "1", "wd_mult": "3", "force_mirroring": "1"})


@graph
def variables(mx):
    v = mx.sym.var
    parts = [v("a", init="zeros"), v("b", attr={"foo": "1"}), v("c", __foo__=1), v("d", dtype=int)]
    parts += [v("e", attr={"__shape__": "(3,)"}, shape=(4,)), v("f", shape=[3, 4]), v("g", shape=3)]
    return mx.sym.Group(parts)


@graph
def scopes(mx):
    with mx.AttrScope(ctx_group="a", __b__="1"):
        x = mx.sym.var("x")
        with mx.AttrScope(ctx_group="c", lr_mult="2"):
            y = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
        z = mx.sym.var("z", attr={"ctx_group": "d"})
        return y + z


@graph
def prefixes(mx):
    x = mx.sym.var("x")
    with mx.name.Prefix("a_"):
        y = mx.sym.FullyConnected(x, num_hidden=3)
        with mx.name.Prefix("b_"):
            y = mx.sym.relu(mx.sym.relu(y), name="n") + 1
        return mx.sym.FullyConnected(y, num_hidden=3)


@graph
def composed(mx):
    x, other = mx.sym.var("data"), mx.sym.var("data2")
    net1 = mx.sym.FullyConnected(x, name="fc1", num_hidden=10)
    net2 = mx.sym.FullyConnected(other, name="fc3", num_hidden=10)
    net2 = mx.sym.Activation(net2, name="relu2", act_type="relu")
    both = net2(data2=net1, name="composed")
    return mx.sym.Group([both, net2, net1(fc1_weight=mx.sym.var("w"))])


@graph
def composed_group(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    return mx.sym.Group([x + y, x * y])(x=y, y=x, name="swapped")


@graph
def composed_statistics(mx):
    return mx.sym.BatchNorm(mx.sym.var("x"), name="bn")(bn_moving_mean=mx.sym.var("mean"))


@graph
def set_attributes(mx):
    x = mx.sym.var("x")
    net = mx.sym.FullyConnected(x, num_hidden=3, name="f")
    x._set_attr(__a__="1", lr_mult="2")
    net._set_attr(num_hidden="5", lr_mult="3")
    return net


@graph
def internals(mx):
    return _mlp(mx).get_internals()


@graph
def cut(mx):
    inner = _mlp(mx).get_internals()
    return mx.sym.Group([inner["relu1_output"], inner[1], *inner[2:4]])


@graph
def only_a_variable(mx):
    return mx.sym.var("x")


@graph
def only_an_operator(mx):
    return mx.sym.zeros((2,))


@graph
def odd_names(mx):
    return mx.sym.var('é"\\\n\t/', attr={"__a__": "ü\r"}) + mx.sym.var("a b")


@graph
def copies(mx):
    import copy
    import pickle

    net = _mlp(mx)
    parts = [copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))]
    parts[0]._set_attr(__a__="1")
    return mx.sym.Group([*parts, net])


def _node(op, name, *inputs, **parts):
    return {"op": op, "name": name, "inputs": [list(i) for i in inputs], **parts}


def _file(*nodes, version=None, heads=None, **fields):
    raw = {
        "nodes": list(nodes),
        "arg_nodes": [i for i, n in enumerate(nodes) if n["op"] == "null"],
        "heads": heads or [[len(nodes) - 1, 0]],
        **fields,
    }
    if version is not None:
        raw["attrs"] = {"mxnet_version": ["int", version]}
    return json.dumps(raw)


def _v(name, **parts):
    return _node("null", name, **parts)


def _single(op, inputs, attrs, version=10901):
    variables = [_v(f"d{i}") for i in range(inputs)]
    entries = [[i, 0, 0] for i in range(inputs)]
    return _file(*variables, _node(op, "n", *entries, attrs=attrs), version=version)


_FC = {"num_hidden": "3"}
_HIDDEN = {"lr_mult": "0.01", "wd_mult": "0.3", "ctx_group": "g", "force_mirroring": "1"}

#: Files in the style of each generation, written by hand.
DOCUMENTS = {
    "v08_statistics_are_missing": _file(
        _v("data", param={}, backward_source_id=-1),
        _v("bn_gamma", param={}, backward_source_id=-1),
        _v("bn_beta", param={}, backward_source_id=-1),
        _node(
            "BatchNorm", "bn", (0, 0), (1, 0), (2, 0), backward_source_id=-1,
            param={"eps": "0.001", "momentum": "0.9", "fix_gamma": "False"}, attr={"lr_mult": "2"},
        ),
    ),
    "v08_inputs_are_missing": _file(
        _v("data"), _node("FullyConnected", "fc", (0, 0), param=_FC), version=800
    ),
    "v08_hidden_keys": _file(
        _v("data", attr={"lr_mult": "1", "foo": "2"}), _v("w"), _v("b"),
        _node("FullyConnected", "fc", (0, 0), (1, 0), (2, 0), param=_FC,
              attr={"weight_lr_mult": "1.2", "__foo__": "2", **_HIDDEN}),
    ),
    "v09_hidden_keys": _file(
        _v("data"), _v("w"), _v("b"),
        _node("FullyConnected", "fc", (0, 0, 0), (1, 0, 0), (2, 0, 0), attr={**_FC, **_HIDDEN}),
        version=905,
    ),
    "v09_argmax_axis": _file(
        _v("data"), _node("argmax", "am", (0, 0, 0), attr={"axis": "-1"}), version=904
    ),
    "v095_argmax_axis": _file(
        _v("data"), _node("argmax", "am", (0, 0, 0), attr={"axis": "-1"}), version=905
    ),
    "v10_attributes_on_variables": _file(
        _v("data", attr={"__shape__": "(8L, 3L)", "__dtype__": "0", "num_hidden": "3"}),
        _v("w", attr=_FC), _v("b", attr=_FC),
        _node("FullyConnected", "fc", (0, 0, 0), (1, 0, 0), (2, 0, 0), attr=_FC),
        version=1000,
    ),
    "param_and_attr_together": _file(
        _v("data"), _node("FullyConnected", "fc", (0, 0), param=_FC, attr={"__no__": "1"})
    ),
    "python2_longs": _single("Reshape", 1, {"shape": "(8L, 3L)"}, 800),
    "lists": _single("Reshape", 1, {"shape": "[8, 3]"}),
    "unknown_batch": _single("_zeros", 0, {"shape": "(2, 0, 200)"}),
    "old_reshape": _single("Reshape", 1, {"target_shape": "(0,33)"}),
    "none_in_tuples": _single("slice", 1, {"begin": "(None, None, 2, 2)", "end": "None"}),
    "tolerated": _single("LinearRegressionOutput", 2, {"out_grad": "True", "grad_scale": "1"}),
    "annotated_operator": _single("relu", 1, {"foo": "1"}),
    "workspace": _single(
        "UpSampling", 1,
        {"scale": "2", "sample_type": "nearest", "num_args": "1", "workspace": "512"},
    ),
    "same_names": _file(
        _v("x"), _node("relu", "r", (0, 0, 0)), _node("relu", "r", (1, 0, 0)), version=10901
    ),
    "capitalised": _file(
        _v("a"), _v("b"), _node("_Plus", "p", (0, 0, 0), (1, 0, 0)),
        _node("_PlusScalar", "q", (2, 0, 0), attrs={"scalar": "2"}), version=1000,
    ),
    "second_output": _file(
        _v("x"), _node("SliceChannel", "s", (0, 0, 0), attrs={"num_outputs": "2"}),
        heads=[[1, 1, 0], [1, 0, 0]], version=10901,
    ),
    "out_of_order": _file(
        _node("relu", "r", (1, 0, 0)), _v("x"), heads=[[0, 0, 0]], version=10901
    ),
}  # fmt: skip


def value(function):
    VALUES[function.__name__] = function
    return function


@value
def attributes_of_a_node(mx):
    net = mx.sym.FullyConnected(
        mx.sym.var("x"), num_hidden=3, name="f", lr_mult=2, attr={"__a__": "1"}
    )
    keys = ["lr_mult", "__lr_mult__", "num_hidden", "flatten", "__a__", "zz", "name"]
    return [net.attr(key) for key in keys] + [net.list_attr(), net.get_internals().attr("a")]


@value
def attributes_of_a_group(mx):
    relu = mx.sym.Activation(mx.sym.var("x"), act_type="relu", name="r")
    dense = mx.sym.FullyConnected(relu, num_hidden=3, name="f")
    group = mx.sym.Group([relu, dense])
    internals = dense.get_internals()
    return [group.list_attr(), group.attr("act_type"), internals.list_attr()]


@value
def old_place_of_contrib(mx):
    boxes = mx.contrib.sym.MultiBoxPrior(mx.sym.var("x"), sizes=(0.5,), name="p")
    array = mx.contrib.nd.MultiBoxPrior(mx.nd.zeros((1, 1, 1, 1)), sizes=(0.5,))
    suppressed = mx.contrib.symbol.box_nms(boxes, name="k")
    return [
        suppressed.get_internals().list_outputs(),
        array.shape,
        hasattr(mx.contrib.ndarray, "sum"),
    ]


@value
def names_of_parts(mx):
    net = _mlp(mx)
    group = mx.sym.Group([net, mx.sym.var("x")])
    parts = [s.name for s in net.get_internals()]
    return [net.name, group.name, len(group), repr(group), repr(net), group.list_attr(), parts]


@value
def children(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    parts = mx.sym.SliceChannel(x + y, num_outputs=2, name="sp")
    groups = [_mlp(mx), mx.sym.Group([parts, x * y]), parts[1], mx.sym.Group([x + y, x - y])]
    all_children = [s.get_children() for s in (*groups, x)]
    return [None if s is None else s.list_outputs() for s in all_children]


@value
def numbers_only(mx):
    s = mx.sym
    return [s.pow(2, 3), s.maximum(2, 3), s.minimum(2, 3), s.hypot(3, 4)]


@value
def names_are_counted(mx):
    x = mx.sym.var("x")
    first = [mx.sym.relu(x).name, mx.sym.relu(x, name="relu1").name, mx.sym.relu(x).name]
    with mx.name.NameManager():
        inner = mx.sym.relu(x).name
    return [*first, inner, mx.sym.relu(x).name, mx.sym.relu(x, name="").name]


@value
def scope_merges(mx):
    scope = mx.AttrScope(a="1")
    return [scope.get({"b": "2"}), scope.get(None), scope.get({"a": "3"})]


@value
def original_is_not_changed(mx):
    v = mx.sym.var("v", attr={"__a__": "1"})
    net = v + 1
    other = net(v=mx.sym.var("y"))
    other._set_attr(__z__="1")
    return [net.attr_dict(), other.attr_dict(), net.list_arguments(), other.list_arguments()]


def _error(name, function):
    ERRORS[name] = function


def _x(mx):
    return mx.sym.var("x")


def _bn(mx, **inputs):
    return mx.sym.BatchNorm(_x(mx), name="b", **inputs)


_error("attribute_missing", lambda mx: mx.sym.FullyConnected(_x(mx)))
_error("attribute_unknown", lambda mx: mx.sym.FullyConnected(_x(mx), num_hidden=3, zz=1))
_error("attribute_malformed", lambda mx: mx.sym.FullyConnected(_x(mx), num_hidden="a"))
_error("attribute_not_in_choice", lambda mx: mx.sym.Activation(_x(mx), act_type="foo"))
_error("attr_unknown", lambda mx: mx.sym.FullyConnected(_x(mx), num_hidden=3, attr={"a": "1"}))
_error("weight_lr_mult", lambda mx: mx.sym.FullyConnected(_x(mx), num_hidden=3, weight_lr_mult=1))
_error("input_is_a_number", lambda mx: mx.sym.FullyConnected(1, num_hidden=3))
_error("input_is_a_list", lambda mx: mx.sym.Concat([_x(mx), _x(mx)]))
_error("input_is_none", lambda mx: mx.sym.Concat(_x(mx), None))
_error("input_unknown", lambda mx: mx.sym.FullyConnected(_x(mx), num_hidden=3, foo=_x(mx)))
_error("input_twice", lambda mx: mx.sym.sum(_x(mx), data=_x(mx)))
_error("input_is_a_group", lambda mx: mx.sym.relu(mx.sym.Group([_x(mx), _x(mx)])))
_error("inputs_both_ways", lambda mx: mx.sym.Concat(_x(mx), arg1=_x(mx)))
_error("inputs_too_many", lambda mx: mx.sym.Concat(_x(mx), _x(mx), num_args=1))
_error("too_many_positional", lambda mx: mx.sym.relu(_x(mx), 1, 2, 3, 4, 5))
_error("bias_without_bias", lambda mx: mx.sym.FullyConnected(
    _x(mx), bias=_x(mx), num_hidden=3, no_bias=True))  # fmt: skip
_error("state_is_an_output", lambda mx: _bn(mx, moving_mean=_x(mx) + 1).list_arguments())
_error("dtype_unknown", lambda mx: mx.sym.cast(_x(mx), dtype="foo"))
_error("operator_unknown", lambda mx: mx.sym.NoSuchOperator)
_error("index_too_large", lambda mx: _x(mx)[1])
_error("index_negative", lambda mx: _x(mx)[-1])
_error("index_unknown_name", lambda mx: _x(mx)["y"])
_error("index_name_twice", lambda mx: mx.sym.Group([_x(mx), _x(mx)])["x"])
_error("index_empty_slice", lambda mx: _x(mx)[1:1])
_error("index_is_a_float", lambda mx: _x(mx)[0.5])
_error("truth_value", lambda mx: bool(_x(mx)))
_error("hash", lambda mx: hash(_x(mx)))
_error("plus_text", lambda mx: _x(mx) + "a")
_error("plus_none", lambda mx: _x(mx) + None)
_error("equal_none", lambda mx: _x(mx) == None)  # noqa: E711
_error("maximum_of_text", lambda mx: mx.sym.maximum("a", _x(mx)))
_error("in_place", lambda mx: _x(mx).__iadd__(1))
_error("asnumpy", lambda mx: _x(mx).asnumpy())
_error("group_of_nothing", lambda mx: mx.sym.Group([]))
_error("group_of_numbers", lambda mx: mx.sym.Group([1]))
_error("variable_name", lambda mx: mx.sym.var(3))
_error("variable_keyword", lambda mx: mx.sym.var("x", foo="1"))
_error("variable_attr", lambda mx: mx.sym.var("x", attr={"foo": 1}))
_error("scope_not_text", lambda mx: mx.AttrScope(a=1))
_error("set_attr_not_text", lambda mx: _x(mx)._set_attr(a=1))
_error("set_attr_malformed", lambda mx: mx.sym.FullyConnected(
    _x(mx), num_hidden=3)._set_attr(num_hidden="q"))  # fmt: skip
_error("set_attr_of_group", lambda mx: mx.sym.Group([_x(mx), _x(mx)])._set_attr(a="1"))
_error("recursive_attributes", lambda mx: _x(mx).list_attr(recursive=True))
_error("compose_unknown", lambda mx: (_x(mx) + 1)(zz=_x(mx)))
_error("compose_number", lambda mx: (_x(mx) + 1)(x=1))
_error("compose_both_ways", lambda mx: (_x(mx) + 1)(_x(mx), x=_x(mx)))
_error("compose_group", lambda mx: (_x(mx) + 1)(x=mx.sym.Group([_x(mx), _x(mx)])))
_error("random_mixed", lambda mx: mx.sym.random.uniform(0, _x(mx)))
_error("gradient", lambda mx: (_x(mx) + 1).gradient(["x"]))
_error("shape_is_a_list", lambda mx: _x(mx).infer_shape(x=[1]))
_error("shape_of_unknown", lambda mx: _x(mx).infer_shape(zz=(1,)))
_error("type_of_unknown", lambda mx: _x(mx).infer_type(zz="float32"))
_error("type_unknown", lambda mx: _x(mx).infer_type(x="foo"))
_error("json_is_not_an_object", lambda mx: mx.sym.load_json("[]"))
_error("json_has_no_nodes", lambda mx: mx.sym.load_json("{}"))
_error("json_operator_unknown", lambda mx: mx.sym.load_json(_single("Nope", 1, {})))
_error("json_attribute_unknown", lambda mx: mx.sym.load_json(_single("Pooling", 1, {"zz": "q"})))
_error("json_attribute_malformed", lambda mx: mx.sym.load_json(
    _single("BatchNorm", 5, {"eps": "q"})))  # fmt: skip
_error("json_input_out_of_range", lambda mx: mx.sym.load_json(
    _file(_v("x"), _node("relu", "r", (7, 0, 0)))))  # fmt: skip
_error("json_number", lambda mx: mx.sym.load_json(3))
