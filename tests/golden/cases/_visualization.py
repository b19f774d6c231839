"""Networks that MXNet prints and draws; run with MXNet as ``mx`` once, with executorkit ever after.

``NETWORKS`` are functions that return a symbol. ``TABLES`` and ``PICTURES`` say which of them is
shown with which arguments, ``ERRORS`` which call must raise: the function, a network or something
else, and arguments.
"""

from __future__ import annotations

import contextlib
import io
import warnings

NETWORKS = {}


def network(function):
    NETWORKS[function.__name__] = function
    return function


@network
def small(mx):
    s = mx.sym
    data = s.var("data")
    conv = s.Convolution(data, kernel=(3, 3), num_filter=8, num_group=2, stride=(2, 1), name="c1")
    x = s.Activation(s.BatchNorm(conv, name="bn"), act_type="relu", name="r")
    x = s.Convolution(x, kernel=(1, 1), num_filter=8, no_bias=True, name="c2")
    x = s.elemwise_add(x, conv, name="add")
    x = s.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p")
    x = s.Pooling(x, global_pool=True, pool_type="avg", name="gp")
    x = s.FullyConnected(s.Flatten(x, name="fl"), num_hidden=10, name="fc")
    x = s.LeakyReLU(x, act_type="prelu", name="pr")
    x = s.FullyConnected(x, num_hidden=5, no_bias=True, name="fc2")
    return s.SoftmaxOutput(x, name="sm")


@network
def variable(mx):
    return mx.sym.var("data")


@network
def weight_alone(mx):
    return mx.sym.var("x_weight")


@network
def several_outputs(mx):
    data = mx.sym.var("data")
    dense = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    split = mx.sym.split(dense, num_outputs=2, axis=1, name="sp")
    return mx.sym.Group([split, mx.sym.tanh(dense, name="t")])


@network
def second_output_first(mx):
    split = mx.sym.split(mx.sym.var("data"), num_outputs=2, axis=1, name="sp")
    return mx.sym.Group([split[1], mx.sym.FullyConnected(split[0], num_hidden=3, name="f")])


@network
def split_and_joined(mx):
    split = mx.sym.split(mx.sym.var("data"), num_outputs=2, axis=1, name="sp")
    parts = [mx.sym.FullyConnected(split[i], num_hidden=3, name=f"f{i}") for i in range(2)]
    return mx.sym.relu(parts[0] + parts[1], name="end")


@network
def split_in_one(mx):
    x = mx.sym.SliceChannel(mx.sym.relu(mx.sym.var("data"), name="r"), num_outputs=1, name="x")
    return mx.sym.FullyConnected(x[0], num_hidden=2, name="f")


@network
def words(mx):
    x = mx.sym.Embedding(mx.sym.var("data"), input_dim=10, output_dim=4, name="emb")
    x = mx.sym.transpose(x, axes=(1, 0, 2), name="tr")
    x = mx.sym.RNN(x, state_size=6, num_layers=1, mode="lstm", state_outputs=True, name="rnn")
    return x


@network
def rnn_state_read(mx):
    rnn = mx.sym.RNN(
        mx.sym.var("data"), state_size=6, num_layers=2, mode="gru", state_outputs=True, name="rnn"
    )
    return mx.sym.relu(rnn[1], name="r")


@network
def two_inputs(mx):
    a, b = mx.sym.var("a"), mx.sym.var("b")
    x = mx.sym.concat(a, b, dim=1, name="cc")
    return mx.sym.FullyConnected(x, num_hidden=2, name="f")


@network
def repeated_names(mx):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="f")
    return mx.sym.FullyConnected(x, num_hidden=4, name="f")


@network
def variable_twice(mx):
    return mx.sym.elemwise_add(mx.sym.var("a"), mx.sym.var("a"), name="sum")


@network
def a_weight_first(mx):
    w = mx.sym.var("w")
    dense = mx.sym.FullyConnected(mx.sym.var("data"), weight=w, num_hidden=3, name="f")
    return mx.sym.Group([w, dense])


@network
def inputs_by_name(mx):
    x = mx.sym.relu(mx.sym.var("data"), name="r")
    return mx.sym.FullyConnected(weight=mx.sym.var("w"), data=x, num_hidden=3, name="f")


@network
def older_operators(mx):
    x = mx.sym.Convolution_v1(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="c")
    x = mx.sym.Pooling_v1(x, kernel=(2, 2), pool_type="avg", name="p")
    return mx.sym.BatchNorm_v1(x, name="b")


@network
def statistics(mx):
    norm = mx.sym.BatchNorm(mx.sym.var("data"), output_mean_var=True, name="b")
    return mx.sym.Group([mx.sym.relu(norm[0], name="r"), mx.sym.relu(norm[1], name="m")])


@network
def channels_last(mx):
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), layout="NHWC", num_filter=4, name="c")
    return mx.sym.BatchNorm(x, axis=-1, name="b")


@network
def one_dimension(mx):
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3,), stride=(2,), num_filter=8, name="c")
    return mx.sym.Pooling(x, kernel=(3,), pool_type="max", name="p")


@network
def three_dimensions(mx):
    x = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 2, 1), stride="[2,1,1]", num_filter=8, name="c"
    )
    return mx.sym.Deconvolution(x, kernel=(2, 2, 2), num_filter=3, name="d")


@network
def sequence(mx):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, flatten=False, name="f")
    x = mx.sym.LayerNorm(x, name="ln")
    return mx.sym.FullyConnected(x, num_hidden=2, flatten=False, no_bias=1, name="g")


@network
def scalar(mx):
    return mx.sym.sum(mx.sym.var("data"), name="s")


@network
def many_kinds(mx):
    s = mx.sym
    x = s.Reshape(s.var("data"), shape=(0, -1), name="re")
    x = s.Dropout(s.LeakyReLU(x, name="leaky"), name="drop")
    x = s.LeakyReLU(x, act_type="elu", name="elu")
    x = s.Concat(x, s.softmax(x, name="so"), s.SoftmaxActivation(x, name="sa"), name="cc")
    x = s.relu(s.relu(x, name="o_weight"), name="r_bias")
    x = s.broadcast_add(x, s.var("x_moving_mean"), name="ba")
    x = s.broadcast_add(x, s.var("x_running_var"), name="bb")
    x = s.broadcast_add(x, s.var("x_mean"), name="bc")
    return s.LinearRegressionOutput(x, name="lro")


@network
def annotated(mx):
    x = mx.sym.Convolution(
        mx.sym.var("data"), kernel="(3,3)", num_filter="4", name="c", attr={"ctx_group": "g"}
    )
    return mx.sym.BatchNorm(x, name="b")


@network
def mixed_precision(mx):
    x = mx.sym.amp_cast(mx.sym.var("data"), dtype="float16", name="cast")
    return mx.sym.FullyConnected(x, num_hidden=3, name="f")


@network
def odd_names(mx):
    x = mx.sym.var("data")
    names = ["x:1", 'a"b', "<r2>", "graph", "1.5", "é漢", "a b", "12", "a-b", "node", "-.5", "x.y"]
    for name in [*names, "n" * 80]:
        x = mx.sym.relu(x, name=name)
    return x


SMALL = {"shape": {"data": (2, 4, 8, 8)}}

TABLES = {
    "small plain": ("small", {}),
    "small": ("small", SMALL),
    "small narrow": ("small", {**SMALL, "line_length": 60, "positions": [0.3, 0.6, 0.7, 1.0]}),
    "small in characters": ("small", {**SMALL, "line_length": 60, "positions": [20, 30, 40, 60]}),
    "small tiny": ("small", {**SMALL, "line_length": 20}),
    "small nothing": ("small", {"line_length": 40, "positions": (0, 0, 0, 1)}),
    "small negative": ("small", {"line_length": -5}),
    "small five": ("small", {"line_length": 50, "positions": [0.3, 0.5, 0.7, 0.8, 1]}),
    "variable plain": ("variable", {}),
    "variable": ("variable", {"shape": {"data": (2, 3)}}),
    "weight alone": ("weight_alone", {}),
    "several outputs": ("several_outputs", {"shape": {"data": (2, 3)}}),
    "second output first": ("second_output_first", {"shape": {"data": (2, 6)}}),
    "split and joined": ("split_and_joined", {"shape": {"data": (2, 4)}}),
    "split and joined plain": ("split_and_joined", {}),
    "split in one": ("split_in_one", {"shape": {"data": (2, 4)}}),
    "words": ("words", {"shape": {"data": (2, 7)}}),
    "words plain": ("words", {}),
    "rnn state": ("rnn_state_read", {"shape": {"data": (2, 7, 3)}}),
    "two inputs": ("two_inputs", {"shape": {"a": (2, 3), "b": (2, 4)}}),
    "repeated names": ("repeated_names", {}),
    "variable twice": ("variable_twice", {"shape": {"a": (2, 3)}}),
    "variable twice plain": ("variable_twice", {}),
    "a weight first": ("a_weight_first", {"shape": {"data": (2, 6)}}),
    "inputs by name": ("inputs_by_name", {"shape": {"data": (2, 6)}}),
    "older operators": ("older_operators", {"shape": {"data": (2, 3, 6, 6)}}),
    "statistics": ("statistics", {"shape": {"data": (2, 3, 6, 6)}}),
    "channels last": ("channels_last", {"shape": {"data": (2, 6, 7, 3)}}),
    "one dimension": ("one_dimension", {"shape": {"data": (2, 4, 9)}}),
    "three dimensions": ("three_dimensions", {"shape": {"data": (2, 4, 9, 9, 9)}}),
    "sequence": ("sequence", {"shape": {"data": (2, 5, 4)}}),
    "scalar": ("scalar", {"shape": {"data": (2, 3)}}),
    "many kinds plain": ("many_kinds", {}),
    "annotated": ("annotated", {"shape": {"data": (2, 3, 6, 6)}}),
    "mixed precision": ("mixed_precision", {"shape": {"data": (2, 3)}}),
    "odd names": ("odd_names", {"shape": {"data": (2, 3)}}),
}

PICTURES = {
    "small plain": ("small", {}),
    "small": ("small", SMALL),
    "small all": ("small", {**SMALL, "hide_weights": False}),
    "small typed": ("small", {**SMALL, "dtype": {"data": "float16"}}),
    "small types only": ("small", {"dtype": {"data": "float32"}, "hide_weights": False}),
    "small styled": ("small", {"title": "ti tle", "save_format": "png", "node_attrs": {
        "shape": "diamond", "fixedsize": "false", "color": "red", "fillcolor": "#000000"}}),
    "style as pairs": ("variable", {"title": None, "node_attrs": [("color", "a b")]}),
    "variable": ("variable", {"shape": {"data": (2,)}, "title": "graph"}),
    "weight alone": ("weight_alone", {}),
    "several outputs": ("several_outputs", {"shape": {"data": (2, 3)}}),
    "second output first": ("second_output_first", {"shape": {"data": (2, 6)}}),
    "split and joined": ("split_and_joined", {
        "shape": {"data": (2, 4)}, "dtype": {"data": "float64"}}),
    "split in one": ("split_in_one", {"shape": {"data": (2, 4)}}),
    "words": ("words", {"shape": {"data": (2, 7)}, "dtype": {"data": "int32"}}),
    "words all": ("words", {"hide_weights": False}),
    "rnn state": ("rnn_state_read", {"shape": {"data": (2, 7, 3)}}),
    "two inputs": ("two_inputs", {"shape": {"a": (2, 3), "b": (2, 4)}}),
    "repeated names": ("repeated_names", {}),
    "variable twice": ("variable_twice", {"shape": {"a": (2, 3)}}),
    "a weight first": ("a_weight_first", {}),
    "older operators": ("older_operators", {}),
    "statistics": ("statistics", {"shape": {"data": (2, 3, 6, 6)}}),
    "one dimension": ("one_dimension", {"shape": {"data": (2, 4, 9)}}),
    "three dimensions": ("three_dimensions", {}),
    "scalar": ("scalar", {"shape": {"data": (2, 3)}}),
    "many kinds": ("many_kinds", {}),
    "many kinds all": ("many_kinds", {"hide_weights": False}),
    "mixed precision": ("mixed_precision", {"shape": {"data": (2, 3)}}),
    "odd names": ("odd_names", {"shape": {"data": (2, 3)}}),
}  # fmt: skip

ERRORS = {
    "table of a number": ("print_summary", 3, {}),
    "table of nothing": ("print_summary", None, {}),
    "unknown name": ("print_summary", "small", {"shape": {"foo": (2,)}}),
    "label only": ("print_summary", "small", {"shape": {"sm_label": (2,)}}),
    "unknown size": ("print_summary", "small", {"shape": {"data": (0, 4, 8, 8)}}),
    "no shapes": ("print_summary", "small", {"shape": {}}),
    "wrong channels": ("print_summary", "small", {"shape": {"data": (2, 5, 8, 8)}}),
    "shape as list": ("print_summary", "small", {"shape": {"data": [2, 4, 8, 8]}}),
    "shapes as list": ("print_summary", "small", {"shape": [("data", (2, 4, 8, 8))]}),
    "shapes as text": ("print_summary", "small", {"shape": "x"}),
    "two positions": ("print_summary", "small", {"positions": [0.5, 1.0]}),
    "empty positions": ("print_summary", "small", {"positions": []}),
    "no positions": ("print_summary", "small", {"positions": None}),
    "fraction among positions": ("print_summary", "small", {"positions": [0.3, 0.5, 20, 50]}),
    "length as fraction": ("print_summary", "small", {"line_length": 50.5}),
    "length as text": ("print_summary", "small", {"line_length": "x"}),
    "picture of a number": ("plot_network", 3, {}),
    "picture, unknown size": ("plot_network", "small", {"shape": {"data": (0, 4, 8, 8)}}),
    "picture, unknown name": ("plot_network", "small", {"shape": {"foo": (2,)}}),
    "picture, shapes as list": ("plot_network", "small", {"shape": []}),
    "unknown dtype": ("plot_network", "small", {"dtype": {"data": "foo"}}),
    "dtype of an unknown": ("plot_network", "small", {"dtype": {"foo": "float32"}}),
    "dtype as text": ("plot_network", "small", {"dtype": "float32"}),
    "style as number": ("plot_network", "small", {"node_attrs": 3}),
    "no style": ("plot_network", "small", {"node_attrs": None}),
    "title as number": ("plot_network", "small", {"title": 3}),
    "style with a number": ("plot_network", "small", {"node_attrs": {"width": 3}}),
}


def _network(mx, name):
    with mx.name.NameManager():
        return NETWORKS[name](mx) if isinstance(name, str) else name


def table(mx, name, arguments):
    """The printed text."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mx.viz.print_summary(_network(mx, name), **arguments)
    return printed.getvalue()


def picture(mx, name, arguments):
    """The graph, and the classes of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = mx.viz.plot_network(_network(mx, name), **arguments)
    return graph, [warning.category.__name__ for warning in caught]


def fail(mx, function, name, arguments):
    """Makes the call that raises, and reads what it would have drawn."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        result = getattr(mx.viz, function)(_network(mx, name), **arguments)
        return result and result.source
