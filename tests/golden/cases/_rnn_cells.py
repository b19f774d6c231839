"""Scripts about recurrent cells, run with MXNet as ``mx`` once and with executorkit ever after.

``GRAPHS`` return symbols, of which the graph is compared, and the shapes of inputs by which results
and gradients are; ``VALUES`` return something that JSON can hold; ``ERRORS`` must raise.
"""

from __future__ import annotations

import warnings
import zlib

import numpy as np

BATCH, STEPS, FEATURES = 2, 3, 4
SEQUENCE = {"NTC": (BATCH, STEPS, FEATURES), "TNC": (STEPS, BATCH, FEATURES)}
IMAGE = (BATCH, 2, 5, 4)

GRAPHS = {}
VALUES = {}
ERRORS = {}


#: Inputs that are counting numbers below 5, without gradients.
COUNTS = ("tokens", "softmax_label")


def flat(states):
    """Symbols in nested lists, in order."""
    if isinstance(states, list | tuple):
        return [symbol for state in states for symbol in flat(state)]
    return [states]


def number_for(name, shape):
    """The same numbers for a variable under both systems."""
    draw = np.random.RandomState(zlib.crc32(name.encode()))
    return draw.randint(0, 5, shape) if name in COUNTS else draw.uniform(-0.6, 0.6, shape)


def begin_states(mx, cell):
    """Variables for the initial states of a cell."""
    return cell.begin_state(func=lambda name, **kwargs: mx.sym.var(name))


def state_shapes(cell):
    """Shapes of the arrays bound to those states."""
    shapes = {}
    for i, shape in enumerate(cell.state_shape):
        shapes[f"{cell._prefix}begin_state_{i}"] = tuple(d or BATCH for d in shape)
    return shapes


def unrolled(mx, make, layout="NTC", as_list=False, begin=False, image=False, **kwargs):
    """A group of the outputs and last states of a cell, and the shapes of its inputs."""
    cell = make(mx)
    if as_list:
        names = [f"x{i}" for i in range(STEPS)]
        inputs = [mx.sym.var(name) for name in names]
        shapes = dict.fromkeys(names, IMAGE if image else (BATCH, FEATURES))
    else:
        inputs = mx.sym.var("data")
        shape = (IMAGE[0], STEPS, *IMAGE[1:]) if image else SEQUENCE[layout]
        shapes = {"data": shape}
    states = None
    if begin:
        states = begin_states(mx, cell)
        shapes.update(state_shapes(cell))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs, states = cell.unroll(STEPS, inputs, states, layout, **kwargs)
    return mx.sym.Group([*flat(outputs), *flat(states)]), shapes


def graph(name, make, **kwargs):
    GRAPHS[name] = lambda mx: unrolled(mx, make, **kwargs)


def script(target, name):
    def keep(function):
        target[name] = function
        return function

    return keep


def fused(mode, **kwargs):
    return lambda mx: mx.rnn.FusedRNNCell(3, mode=mode, **kwargs)


def stack(mx):
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.LSTMCell(3, prefix="a_"))
    cell.add(mx.rnn.DropoutCell(0.0))
    cell.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(3, prefix="b_")))
    return cell


def both(mx):
    return mx.rnn.BidirectionalCell(
        mx.rnn.LSTMCell(3, prefix="l_"), mx.rnn.GRUCell(2, prefix="r_"), output_prefix="two_"
    )


def both_fused(mx):
    return mx.rnn.BidirectionalCell(
        mx.rnn.FusedRNNCell(3, mode="gru", prefix="l_"),
        mx.rnn.FusedRNNCell(3, mode="lstm", prefix="r_"),
    )


def half_fused(mx):
    return mx.rnn.BidirectionalCell(
        mx.rnn.FusedRNNCell(3, mode="gru", prefix="l_"), mx.rnn.GRUCell(3, prefix="r_")
    )


def towers(mx):
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.FusedRNNCell(3, mode="rnn_tanh", prefix="f_"))
    cell.add(both(mx))
    return cell


CELLS = {
    "rnn": lambda mx: mx.rnn.RNNCell(3),
    "rnn relu": lambda mx: mx.rnn.RNNCell(3, activation="relu", prefix="r_"),
    "rnn function": lambda mx: mx.rnn.RNNCell(3, activation=mx.sym.LeakyReLU),
    "lstm": lambda mx: mx.rnn.LSTMCell(3, forget_bias=2.0),
    "gru": lambda mx: mx.rnn.GRUCell(3),
    "stack": stack,
    "both": both,
    "residual": lambda mx: mx.rnn.ResidualCell(mx.rnn.LSTMCell(FEATURES)),
    "residual stack": lambda mx: mx.rnn.ResidualCell(mx.rnn.ResidualCell(mx.rnn.RNNCell(FEATURES))),
    "dropout": lambda mx: mx.rnn.DropoutCell(0.5),
    "no dropout": lambda mx: mx.rnn.DropoutCell(0),
    "zoneout": lambda mx: mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3), 0.5, 0.25),
    "zoneout outputs": lambda mx: mx.rnn.ZoneoutCell(mx.rnn.RNNCell(3), 0.5),
    "zoneout nothing": lambda mx: mx.rnn.ZoneoutCell(mx.rnn.GRUCell(3)),
    "fused lstm": fused("lstm"),
    "fused gru": fused("gru", num_layers=2, bidirectional=True),
    "fused relu": fused("rnn_relu", get_next_state=True, num_layers=2),
    "fused tanh": fused("rnn_tanh", get_next_state=True, bidirectional=True, prefix="f_"),
    "fused next": fused("lstm", get_next_state=True, num_layers=2, dropout=0.25, forget_bias=3.0),
    "both fused": both_fused,
    "half fused": half_fused,
    "towers": towers,
}
for _name, _make in CELLS.items():
    graph(_name, _make)
    graph(f"{_name} list", _make, as_list=True)
    for _merge in (True, False):
        graph(f"{_name} merge {_merge}", _make, merge_outputs=_merge)
        graph(f"{_name} TNC merge {_merge}", _make, layout="TNC", merge_outputs=_merge)
for _name in ("rnn", "lstm", "gru", "fused lstm", "fused gru", "fused next"):
    graph(f"{_name} given", CELLS[_name], begin=True)
for _name in ("fused lstm", "fused gru", "fused relu", "fused tanh", "fused next"):
    graph(f"{_name} unfused", lambda mx, m=CELLS[_name]: m(mx).unfuse(), merge_outputs=True)
    graph(f"{_name} unfused list", lambda mx, m=CELLS[_name]: m(mx).unfuse(), as_list=True)

CONVOLUTIONAL = {
    "conv rnn": lambda mx: mx.rnn.ConvRNNCell(IMAGE, 3),
    "conv lstm": lambda mx: mx.rnn.ConvLSTMCell(IMAGE, 3, activation="tanh"),
    "conv gru": lambda mx: mx.rnn.ConvGRUCell(IMAGE, 3, prefix="g_"),
    "conv options": lambda mx: mx.rnn.ConvLSTMCell(
        IMAGE, 2, h2h_kernel=(1, 3), h2h_dilate=(1, 2), i2h_kernel=(2, 1), i2h_stride=(2, 1),
        i2h_pad=(1, 0), i2h_weight_initializer=mx.init.Xavier(), h2h_bias_initializer="ones",
    ),
}  # fmt: skip
for _name, _make in CONVOLUTIONAL.items():
    graph(_name, _make, image=True)
    graph(f"{_name} list", _make, as_list=True, image=True, merge_outputs=True)


@script(GRAPHS, "steps by hand")
def _(mx):
    cell = stack(mx)
    states, outputs = cell.begin_state(), []
    for i in range(2):
        output, states = cell(mx.sym.var(f"x{i}"), states)
        outputs.append(output)
    shapes = {f"x{i}": (BATCH, FEATURES) for i in range(2)}
    return mx.sym.Group([*outputs, *states]), shapes


@script(GRAPHS, "twice")
def _(mx):
    """A cell that is unrolled twice has the same names twice."""
    cell = mx.rnn.GRUCell(3)
    first, states = cell.unroll(1, [mx.sym.var("x")])
    second, _ = cell.unroll(1, [mx.sym.var("y")], states)
    return mx.sym.Group([*first, *second]), {"x": (BATCH, FEATURES), "y": (BATCH, FEATURES)}


@script(GRAPHS, "modified twice")
def _(mx):
    """A modifier does not reset its cell."""
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(3), zoneout_states=0.5)
    first, states = cell.unroll(1, [mx.sym.var("x")])
    second, _ = cell.unroll(1, [mx.sym.var("y")], states)
    return mx.sym.Group([*first, *second]), {"x": (BATCH, FEATURES), "y": (BATCH, FEATURES)}


@script(GRAPHS, "shared")
def _(mx):
    params = mx.rnn.RNNParams("s_")
    cells = [mx.rnn.RNNCell(3, prefix=p, params=params) for p in ("a_", "b_")]
    outputs = [cell.unroll(1, [mx.sym.var("x")])[0][0] for cell in cells]
    return mx.sym.Group(outputs), {"x": (BATCH, FEATURES)}


@script(GRAPHS, "states of ones")
def _(mx):
    cell = mx.rnn.LSTMCell(3)
    states = cell.begin_state(func=mx.sym.ones, dtype="float32")
    outputs, states = cell.unroll(2, [mx.sym.var("x"), mx.sym.var("y")], states)
    return mx.sym.Group([*outputs, *states]), {"x": (BATCH, FEATURES), "y": (BATCH, FEATURES)}


@script(GRAPHS, "language model")
def _(mx):
    embedded = mx.sym.Embedding(
        mx.sym.var("tokens"), input_dim=5, output_dim=FEATURES, name="embed"
    )
    outputs, _ = stack(mx).unroll(STEPS, embedded, merge_outputs=True)
    scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, 3)), num_hidden=5, name="fc")
    label = mx.sym.reshape(mx.sym.var("softmax_label"), shape=(-1,))
    shapes = {"tokens": (BATCH, STEPS), "softmax_label": (BATCH, STEPS)}
    return mx.sym.SoftmaxOutput(scores, label, name="softmax"), shapes


#: Graphs of which results are compared too; those of the others follow from the graphs.
RUN = [name for name in GRAPHS if " merge " not in name and not name.endswith(" list")]


@script(VALUES, "states")
def _(mx):
    cells = {**CELLS, **CONVOLUTIONAL}
    facts = {}
    for name, make in cells.items():
        cell = make(mx)
        facts[name] = [cell.state_info, cell.state_shape, sorted(cell.params._params)]
    return facts


@script(VALUES, "begin states")
def _(mx):
    cell = stack(mx)
    facts = [[s.name for s in cell.begin_state()] for _ in range(2)]
    cell.reset()
    facts.append([s.name for s in cell.begin_state()])
    return facts


def results(mx, symbol, shapes):
    """Outputs, and gradients of sum(output * number), by fixed numbers for all variables.

    Of networks that drop at random only the outputs outside training.
    """
    names, (arg_shapes, outs, _) = symbol.list_arguments(), symbol.infer_shape(**shapes)
    args, grads = {}, {}
    for name, shape in zip(names, arg_shapes, strict=True):
        args[name] = mx.nd.array(number_for(name, shape))
        if name not in COUNTS:
            grads[name] = mx.nd.zeros(shape)
    executor = symbol.bind(mx.cpu(), args, grads)
    text = symbol.tojson()
    drops = "Dropout" in text or '"p": "0.25"' in text
    outputs = executor.forward(is_train=not drops)
    arrays = {f"out{i}": output.asnumpy() for i, output in enumerate(outputs)}
    if not drops:
        # Of an output that is there twice MXNet disregards the first head gradient.
        names = symbol.list_outputs()
        heads = [
            mx.nd.array(number_for(f"head{i}", shape) * (names[i] not in names[i + 1 :]))
            for i, shape in enumerate(outs)
        ]
        executor.backward(heads)
        arrays.update((f"grad:{name}", grad.asnumpy()) for name, grad in grads.items())
    return arrays


def arrays_of(mx, symbol, shapes):
    """Arrays for all parameters of a network, {name: NDArray}."""
    names, (arg_shapes, _, _) = symbol.list_arguments(), symbol.infer_shape(**shapes)
    return {
        name: mx.nd.array(number_for(name, shape))
        for name, shape in zip(names, arg_shapes, strict=True)
        if name not in shapes
    }


def plain(arrays):
    return {name: ["float32", array.asnumpy().tolist()] for name, array in sorted(arrays.items())}


PACKED = (
    "lstm", "gru", "rnn", "stack", "both", "residual", "fused lstm", "fused gru", "fused next",
    "both fused", "towers",
)  # fmt: skip
for _name in PACKED:

    @script(VALUES, f"unpacked {_name}")
    def _(mx, make=CELLS[_name]):
        symbol, shapes = unrolled(mx, make)
        arrays = arrays_of(mx, symbol, shapes)
        cell = make(mx)
        unpacked = cell.unpack_weights({**arrays, "other": mx.nd.ones((1,))})
        packed = cell.pack_weights(unpacked)
        assert sorted(packed) == sorted([*arrays, "other"])
        same = [np.array_equal(a.asnumpy(), packed[n].asnumpy()) for n, a in arrays.items()]
        return [plain(unpacked), same]


@script(VALUES, "unpacked conv")
def _(mx):
    cell = mx.rnn.ConvLSTMCell(IMAGE, 3)
    symbol, shapes = unrolled(mx, lambda mx: cell, image=True)
    unpacked = cell.unpack_weights(arrays_of(mx, symbol, shapes))
    return [plain(unpacked), sorted(cell.pack_weights(unpacked))]


@script(VALUES, "files")
def _(mx, folder):
    """Names in a checkpoint's file, and what is loaded from it with other cells."""
    cell = mx.rnn.FusedRNNCell(3, 2, "gru", prefix="g_")
    symbol, shapes = unrolled(mx, lambda mx: cell)
    arrays = arrays_of(mx, symbol, shapes)
    states = {"state": mx.nd.ones((2,))}
    prefix = str(folder / "net")
    mx.rnn.save_rnn_checkpoint(cell, prefix, 3, symbol, arrays, states)
    stored = mx.nd.load(f"{prefix}-0003.params")
    facts = [sorted(path.name for path in folder.iterdir()), plain(stored)]
    for cells in (cell, [cell], cell.unfuse()):
        loaded, params, aux = mx.rnn.load_rnn_checkpoint(cells, prefix, 3)
        facts.append([loaded.list_arguments(), plain(params), plain(aux)])
    return facts


@script(VALUES, "callback")
def _(mx, folder):
    cell = mx.rnn.LSTMCell(3)
    symbol, shapes = unrolled(mx, lambda mx: cell)
    arrays = arrays_of(mx, symbol, shapes)
    for period, prefix in ((1, "a"), (2, "b"), (0, "c")):
        callback = mx.rnn.do_rnn_checkpoint([cell], str(folder / prefix), period)
        for epoch in range(4):
            callback(epoch, symbol, arrays, {})
    return sorted(path.name for path in folder.iterdir())


def error(name, function):
    ERRORS[name] = function


error("step fused", lambda mx: fused("lstm")(mx)(mx.sym.var("x"), []))
error("step both", lambda mx: both(mx)(mx.sym.var("x"), []))
error("step both in a stack", lambda mx: towers(mx)(mx.sym.var("x"), [None] * 9))
error("step base", lambda mx: mx.rnn.BaseRNNCell()(mx.sym.var("x"), []))
error("step modifier", lambda mx: mx.rnn.ModifierCell(mx.rnn.RNNCell(3))(mx.sym.var("x"), []))
error("state base", lambda mx: mx.rnn.BaseRNNCell().state_info)
error("no inputs", lambda mx: mx.rnn.RNNCell(3).unroll(2, None))
error("few inputs", lambda mx: mx.rnn.RNNCell(3).unroll(2, [mx.sym.var("x")]))
error("group", lambda mx: mx.rnn.RNNCell(3).unroll(2, mx.sym.Group([mx.sym.var("x")] * 2)))
error("fused layout", lambda mx: fused("lstm")(mx).unroll(2, mx.sym.var("x"), layout="NCT"))
error("zoneout fused", lambda mx: mx.rnn.ZoneoutCell(fused("lstm")(mx)))
error("zoneout both", lambda mx: mx.rnn.ZoneoutCell(both(mx)))
error("dropout text", lambda mx: mx.rnn.DropoutCell("0.5"))
error("even kernel", lambda mx: mx.rnn.ConvRNNCell(IMAGE, 3, h2h_kernel=(2, 3)))
error("unpack missing", lambda mx: mx.rnn.LSTMCell(3).unpack_weights({}))
error("pack missing", lambda mx: mx.rnn.LSTMCell(3).pack_weights({}))
error("unpack fused missing", lambda mx: fused("gru")(mx).unpack_weights({}))
error("pack fused missing", lambda mx: fused("gru")(mx).pack_weights({}))
error(
    "unpack fused length",
    lambda mx: fused("gru")(mx).unpack_weights({"gru_parameters": mx.nd.ones((50,))}),
)


@script(ERRORS, "modified")
def _(mx):
    cell = mx.rnn.RNNCell(3)
    mx.rnn.ZoneoutCell(cell)
    cell.begin_state()


@script(ERRORS, "modified stack")
def _(mx):
    cell = stack(mx)
    mx.rnn.ResidualCell(cell)
    cell.begin_state()


@script(ERRORS, "params twice")
def _(mx):
    cell = mx.rnn.SequentialRNNCell(mx.rnn.RNNParams("a_"))
    cell.add(mx.rnn.RNNCell(3, params=mx.rnn.RNNParams("b_")))


@script(ERRORS, "params in a stack")
def _(mx):
    cell = mx.rnn.SequentialRNNCell(mx.rnn.RNNParams("a_"))
    cell.add(mx.rnn.RNNCell(3))
