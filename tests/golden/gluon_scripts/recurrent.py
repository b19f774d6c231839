"""Recurrent layers and cells: parameters, graphs, outputs, gradients, sequences, files."""

from __future__ import annotations

import hashlib
import inspect
import json

from ._facts import attempt, attempts, contents, fill, folder, graph, numbers, script
from .layers import _short, _text

_LAYOUTS = "NTC", "TNC"


def _flat(values):
    """Arrays or symbols of nested lists."""
    if isinstance(values, (list, tuple)):
        return [x for value in values for x in _flat(value)]
    return [values]


def _graph(mx, values):
    """Number of nodes of the graph of nested symbols, and a hash of it; attributes in any order."""
    nodes = graph(mx.sym.Group(_flat(values)))
    text = json.dumps(nodes, sort_keys=True)
    return [len(nodes), hashlib.sha256(text.encode()).hexdigest()[:12]]


def _nested(values):
    """Nested lists of arrays with seven digits."""
    if isinstance(values, (list, tuple)):
        return [_nested(value) for value in values]
    return _short(values.asnumpy())


def _shapes(values):
    if isinstance(values, (list, tuple)):
        return [_shapes(value) for value in values]
    return list(values.shape)


def _named(block):
    return [
        [name, p.shape, p.grad_req, p.init if isinstance(p.init, str) else type(p.init).__name__]
        for name, p in block.collect_params().items()
    ]


def _total(values):
    total = None
    for i, value in enumerate(_flat(values)):
        part = (value * value).sum() * (i + 1)
        total = part if total is None else total + part
    return total


def _trained(mx, block, call, x):
    """What a recorded call returns, and the gradients of its squares."""
    x.attach_grad()
    with mx.autograd.record():
        results = call(x)
        loss = _total(results) * 0.125
    loss.backward()
    grads = [p.grad() for p in block.collect_params().values()]
    return [_nested(results), _nested(x.grad), _nested([grads[0], grads[-1]])]


@script
def signatures_of_recurrent_classes(mx):
    seen = {}
    for module in (mx.gluon.rnn, mx.gluon.contrib.rnn):
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if not isinstance(value, type) or name.startswith("_"):
                continue
            seen[name] = [
                [p.name, p.kind.name, None if p.default is p.empty else _text(p.default)]
                for p in inspect.signature(value).parameters.values()
            ]
            for method in ("unroll", "begin_state", "state_info", "__call__"):
                if method != "__call__" and hasattr(value, method):
                    function = inspect.signature(getattr(value, method))
                    seen[f"{name}.{method}"] = list(function.parameters)
    dynamic = mx.gluon.contrib.rnn.rnn_cell.dynamic_unroll
    seen["dynamic_unroll"] = list(inspect.signature(dynamic).parameters)
    return seen


def _layers(mx):
    rnn = mx.gluon.rnn
    return {
        "rnn": lambda: rnn.RNN(3, input_size=2),
        "tanh, two layers": lambda: rnn.RNN(2, 2, activation="tanh", dropout=0.5),
        "lstm": lambda: rnn.LSTM(3),
        "lstm both ways, NTC": lambda: rnn.LSTM(2, 2, layout="NTC", bidirectional=True),
        "gru": lambda: rnn.GRU(3, layout="NTC"),
        "gru both ways": lambda: rnn.GRU(2, bidirectional=True, prefix="g_"),
        "initializers": lambda: rnn.LSTM(
            2, i2h_weight_initializer="ones", h2h_weight_initializer=mx.init.Constant(0.5),
            i2h_bias_initializer=mx.init.LSTMBias(), h2h_bias_initializer="ones", dtype="float64",
        ),
    }  # fmt: skip


@script
def recurrent_layers(mx):
    seen = {}
    for name, make in _layers(mx).items():
        layer = make()
        dtype = "float64" if name == "initializers" else "float32"
        x = mx.nd.array(numbers("x", (3, 2, 2)), dtype=dtype)
        batch = x.shape[layer._layout.find("N")]
        data, states = (
            mx.sym.var("x"),
            [mx.sym.var(f"h{i}") for i in range(len(layer.state_info()))],
        )
        layer.initialize()
        facts = seen[name] = [
            repr(layer), layer.prefix, _named(layer), list(layer._collect_params_with_prefix()),
            layer.state_info(5), _graph(mx, layer(data)), _graph(mx, layer(data, states)),
            layer(data).list_arguments(), _shapes(layer(x)), repr(layer),
        ]  # fmt: skip
        if name == "initializers":
            facts.append(_nested([p.data() for p in layer.collect_params().values()]))
        fill(layer)
        begin = [s + i for i, s in enumerate(layer.begin_state(batch, dtype=dtype), 1)]
        if "two layers" in name:
            facts.append(_nested(layer(x, begin)))
        else:
            facts.append(_trained(mx, layer, lambda x, f=layer, b=begin: f(x, b), x))
        layer.hybridize()
        facts.append(_nested(layer(x)) if "two layers" not in name else None)
        stack = make()._unfuse()
        facts += [repr(stack), list(stack.collect_params().keys())]
    return seen


@script
def a_projected_lstm(mx):
    layer = mx.gluon.rnn.LSTM(3, 2, projection_size=2, h2r_weight_initializer="ones")
    x = mx.nd.array(numbers("x", (3, 2, 4)))
    layer.initialize()
    graphs = _graph(mx, layer(mx.sym.var("x")))
    facts = [repr(layer), _named(layer), list(layer._collect_params_with_prefix())]
    layer(x)
    fill(layer)
    return [*facts, graphs, layer.state_info(5), _nested(layer(x)),
            attempt(mx, layer._unfuse)]  # fmt: skip


@script
def layers_inside_networks(mx):
    nn, rnn = mx.gluon.nn, mx.gluon.rnn
    seen = []
    for hybrid in (False, True):
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(rnn.LSTM(2, 2, layout="NTC", bidirectional=True), nn.Dense(3, flatten=False))
        net.initialize()
        net.hybridize(hybrid)
        x = mx.nd.array(numbers("x", (2, 3, 2)))
        shape = net(x).shape
        fill(net)
        seen.append([shape, _named(net), _trained(mx, net, net, x)])
    with folder():
        net.save_parameters("a.params")
        net.collect_params().save("b.params")
        net.export("c")
        seen += [contents(mx, name) for name in ("a.params", "b.params", "c-0000.params")]
        seen.append(graph(mx.sym.load("c-symbol.json")))
        lone = rnn.GRU(2, 2, input_size=2)
        lone.initialize(mx.init.One())
        lone.save_parameters("d.params")
        lone.save_params("e.params")
        seen += [contents(mx, "d.params"), contents(mx, "e.params")]
        for name in ("d.params", "e.params", "a.params"):
            other = rnn.GRU(2, 2, input_size=2)
            result = attempt(mx, lambda o=other, n=name: o.load_parameters(n))
            seen.append([result, other.l1_h2h_bias._data is not None])
    return seen


@script
def layers_that_are_refused(mx):
    rnn = mx.gluon.rnn
    x = mx.nd.ones((3, 2, 4))
    lstm, lengths = rnn.LSTM(3, input_size=4), rnn.LSTM(3, input_size=4, use_sequence_length=True)
    for layer in (lstm, lengths):
        layer.initialize()
    return attempts(mx, **{
        "layout": lambda: rnn.LSTM(3, layout="CNT"),
        "activation": lambda: rnn.RNN(3, activation="sigmoid"),
        "projection": lambda: rnn.GRU(3, projection_size=2),
        "uninitialized": lambda: rnn.LSTM(3, input_size=5)(x),
        "batch": lambda: lstm(x, lstm.begin_state(3)),
        "features": lambda: lstm(mx.nd.ones((3, 2, 5))),
        "axes": lambda: lstm(mx.nd.ones((3, 2))),
        "length": lambda: lengths(x),
        "states as a tuple": lambda: _shapes(lstm(x, tuple(lstm.begin_state(2)))),
        "one state": lambda: _shapes(rnn_of_one(mx)(x, mx.nd.zeros((1, 2, 3)))),
        "lengths": lambda: _shapes(lengths(x, sequence_length=mx.nd.array([3, 3]))),
        "lengths and states": lambda: _shapes(
            lengths(x, lengths.begin_state(2), mx.nd.array([3, 3]))
        ),
    })  # fmt: skip


def rnn_of_one(mx):
    layer = mx.gluon.rnn.RNN(3, input_size=4)
    layer.initialize()
    return layer


def _cells(mx, contrib=True):
    rnn, more = mx.gluon.rnn, mx.gluon.contrib.rnn

    def stack(kind):
        made = kind()
        with made.name_scope():
            made.add(rnn.LSTMCell(2))
            made.add(rnn.DropoutCell(0))
            made.add(rnn.GRUCell(2))
        return made

    return {
        "rnn": lambda: rnn.RNNCell(3),
        "relu": lambda: rnn.RNNCell(3, "relu", input_size=2),
        "lstm": lambda: rnn.LSTMCell(3),
        "lstm activations": lambda: rnn.LSTMCell(
            2, activation="softsign", recurrent_activation="tanh", h2h_bias_initializer="ones"
        ),
        "gru": lambda: rnn.GRUCell(3, prefix="g_"),
        "stack": lambda: stack(rnn.SequentialRNNCell),
        "hybrid stack": lambda: stack(rnn.HybridSequentialRNNCell),
        "both ways": lambda: rnn.BidirectionalCell(rnn.LSTMCell(2), rnn.GRUCell(2)),
        "dropout": lambda: rnn.DropoutCell(0.5, (0,)),
        "no dropout": lambda: rnn.DropoutCell(0),
        "zoneout": lambda: rnn.ZoneoutCell(rnn.LSTMCell(2), 0.5, 0.25),
        "residual": lambda: rnn.ResidualCell(rnn.GRUCell(2)),
        "variational": lambda: more.VariationalDropoutCell(rnn.LSTMCell(2), 0.3, 0.4, 0.5),
        "variational inputs": lambda: more.VariationalDropoutCell(rnn.GRUCell(2), 0.3, 0, 0.5),
        "projected": lambda: more.LSTMPCell(3, 2),
    }


#: Cells whose outputs are the same at every call, and that have parameters.
_CERTAIN = ("rnn", "relu", "lstm", "lstm activations", "gru", "stack", "hybrid stack", "both ways",
            "residual", "projected")  # fmt: skip


def _symbols(mx, cell):
    return cell.begin_state(func=mx.sym.zeros, batch_size=0)


@script
def cells_and_their_graphs(mx):
    seen = {}
    x, lengths = mx.sym.var("x"), mx.sym.var("lengths")
    for name, make in _cells(mx).items():
        cell = make()
        facts = seen[name] = [
            repr(cell), cell.prefix, cell.name, _named(cell),
            list(cell._collect_params_with_prefix()), cell.state_info(5),
        ]  # fmt: skip
        if name != "both ways":
            facts.append(_graph(mx, cell(x, _symbols(mx, cell))))
        facts.append(_graph(mx, cell.unroll(2, x)))
        facts.append(_graph(mx, cell.unroll(2, [x, x], layout="TNC", merge_outputs=True)))
        if name not in ("both ways", "residual", "no dropout"):
            facts.append(_graph(mx, cell.unroll(2, x, valid_length=lengths, merge_outputs=True)))
    seen["merged"] = [
        _graph(mx, _cells(mx)[name]().unroll(2, x, merge_outputs=True, layout=layout))
        for name in ("both ways", "residual", "stack")
        for layout in _LAYOUTS
    ]
    return seen


@script
def unrolled_cells(mx):
    seen = {}
    for name in _CERTAIN:
        cell = _cells(mx)[name]()
        cell.initialize()
        x = mx.nd.array(numbers("x", (2, 3, 2)))
        steps = [x[:, i] for i in range(3)]
        facts = seen[name] = [_shapes(cell.unroll(3, x)), repr(cell)]
        fill(cell)
        facts.append(_trained(mx, cell, lambda x, c=cell: c.unroll(3, x, merge_outputs=True), x))
        lengths = mx.nd.array([1, 3])
        facts.append(_nested(cell.unroll(3, x, valid_length=lengths, merge_outputs=True)))
        facts.append(_shapes(cell.unroll(3, steps, layout="TNC", merge_outputs=True)[0]))
        facts.append(_shapes(cell.unroll(2, x, layout="TNC", merge_outputs=True)[0]))
        cell.hybridize()
        facts.append(_nested(cell.unroll(3, steps, merge_outputs=False)[0][-1]))
        states = [s + 1 for s in cell.begin_state(func=mx.nd.zeros, batch_size=2)]
        if name != "both ways":
            facts.append(_nested(cell(steps[0], states)))
        facts.append(_nested(cell.unroll(3, x, states, merge_outputs=True)[1]))
    return seen


@script
def convolutional_cells(mx):
    seen = {}
    for axes in (1, 2, 3):
        for kind, states in (("RNN", 1), ("LSTM", 2), ("GRU", 1)):
            name = f"Conv{axes}D{kind}Cell"
            make = getattr(mx.gluon.contrib.rnn, name)
            size = (3, 4, 2)[:axes]
            cell = make((2, *size), 2, 3, 3, i2h_pad=1, h2h_dilate=2, activation="softsign")
            x = mx.nd.array(numbers("x", (1, 2, 2, *size)))
            step = cell(mx.sym.var("x"), _symbols(mx, cell))
            facts = seen[name] = [repr(cell), cell.prefix, _named(cell), cell.state_info(5),
                                  _graph(mx, step), len(step[1]) == states]  # fmt: skip
            cell.initialize()
            fill(cell)
            facts.append(_trained(mx, cell, lambda x, c=cell: c.unroll(2, x)[0], x))
    two = mx.gluon.contrib.rnn.Conv2DRNNCell
    seen["texts"] = [
        repr(two((3, 5, 4), 2, (3, 2), 1, (1, 0), (2, 1), activation=mx.gluon.nn.LeakyReLU(0.1))),
        two((3, 5, 4), 2, (3, 2), 1, (1, 0), (2, 1)).state_info(1),
        repr(two((5, 4, 3), 2, 3, 3, conv_layout="NHWC")),
        [p.shape for p in two((5, 4, 3), 2, 3, 3, conv_layout="NHWC").collect_params().values()],
    ]
    seen["refused"] = attempts(mx, **{
        "even": lambda: two((3, 5, 5), 2, 3, 2),
        "numbers": lambda: two((3, 5, 5), 2, (3, 3, 3), 3),
    })  # fmt: skip
    return seen


@script
def cells_that_are_refused(mx):
    rnn, more = mx.gluon.rnn, mx.gluon.contrib.rnn
    lstm = rnn.LSTMCell(3, input_size=4)
    lstm.initialize()
    x, data = mx.nd.array(numbers("x", (2, 3, 4))), mx.sym.var("x")
    steps = [x[:, i] for i in range(3)]
    modified = rnn.GRUCell(4)
    rnn.ResidualCell(modified)

    def both():
        return rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(3))

    stack = rnn.SequentialRNNCell()
    stack.add(both())

    class Own(rnn.RecurrentCell):
        pass

    return attempts(mx, **{
        "too long": lambda: lstm.unroll(4, x),
        "too short": lambda: lstm.unroll(2, steps),
        "layout": lambda: lstm.unroll(3, x, layout="NCC"),
        "none": lambda: lstm.unroll(3, None),
        "states": lambda: lstm.unroll(3, x, begin_state=lstm.begin_state(5)),
        "no states": lambda: lstm(steps[0]),
        "few states": lambda: lstm(steps[0], []),
        "no batch": lambda: lstm.begin_state(),
        "several outputs": lambda: lstm.unroll(3, mx.sym.Group([data, data])),
        "modified": lambda: modified.unroll(3, x),
        "modified twice": lambda: rnn.ZoneoutCell(modified),
        "zoneout": lambda: rnn.ZoneoutCell(both()),
        "variational": lambda: more.VariationalDropoutCell(both(), 0.2, 0.2),
        "rate": lambda: rnn.DropoutCell("a"),
        "stepped": lambda: both()(steps[0], []),
        "stepped inside": lambda: stack(steps[0], stack.begin_state(batch_size=2)),
        "add two": lambda: stack.add(lstm, lstm),
        "hybrid": lambda: rnn.HybridSequentialRNNCell().add(rnn.SequentialRNNCell()),
        "own states": lambda: Own().state_info(),
        "own step": lambda: Own()(steps[0], []),
        "random states": lambda: _shapes(lstm.begin_state(2, func=mx.nd.random.normal, loc=1)),
        "variables": lambda: [s.name for s in lstm.begin_state(2, func=mx.sym.var)],
        "length": lambda: [len(stack), repr(stack[0])],
    })  # fmt: skip


@script
def loops_over_cells(mx):
    unroll = mx.gluon.contrib.rnn.rnn_cell.dynamic_unroll
    cell = mx.gluon.rnn.GRUCell(2, input_size=2, prefix="g_")
    cell.initialize()
    fill(cell)
    x = mx.nd.array(numbers("x", (3, 2, 2)))
    state = [mx.nd.array(numbers("h", (2, 2)))]
    seen = [
        _nested(unroll(cell, x, state)),
        _nested(unroll(cell, x.swapaxes(0, 1), state, layout="NTC")),
        _nested(unroll(cell, x, [state[0][0:2]], valid_length=mx.nd.array([1, 3]))[1]),
        _trained(mx, cell, lambda x: unroll(cell, x, state), x),
    ]
    output, states = unroll(cell, mx.sym.var("x"), [mx.sym.var("h")])
    executor = mx.sym.Group([output, *states]).bind(
        mx.cpu(), {"x": x, "h": state[0], **{n: p.data() for n, p in cell.collect_params().items()}}
    )
    return [*seen, _nested(executor.forward()), output.list_arguments()]


@script
def weights_of_layers_in_cells(mx):
    layer = mx.gluon.rnn.LSTM(2, 2, bidirectional=True, input_size=2)
    layer.initialize()
    fill(layer)
    x = mx.nd.array(numbers("x", (3, 2, 2)))
    with folder():
        layer.save_parameters("a.params")
        stack = mx.gluon.rnn.LSTM(2, 2, bidirectional=True, input_size=2)._unfuse()
        arrays = {k.replace("_unfused.", ""): v for k, v in mx.nd.load("a.params").items()}
        mx.nd.save("b.params", arrays)
        stack.load_parameters("b.params")
        outputs = stack.unroll(3, x, layout="TNC", merge_outputs=True)[0]
    own = layer._unfuse()
    return [_nested(layer(x)), _nested(outputs),
            _nested(own.unroll(3, x, layout="TNC", merge_outputs=True)[0]),
            {*own.collect_params().keys()} == {*layer.collect_params().keys()}]  # fmt: skip
