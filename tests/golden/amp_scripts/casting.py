"""What calls do after ``amp.init``."""

from __future__ import annotations

from typing import Any

from ._facts import attempts, graph, low, script, type_of


def _types(mx: Any, **calls: Any) -> dict[str, Any]:
    return {name: type_of(call()) for name, call in calls.items()}


@script
def arrays_are_cast_to_bfloat16(mx):
    nd = mx.nd
    mx.contrib.amp.init("bfloat16")
    x, w = nd.ones((2, 3)), nd.ones((4, 3))
    b = nd.amp_cast(x, dtype=low(mx))
    image, filters = nd.ones((1, 2, 5, 5)), nd.ones((3, 2, 3, 3))
    dense = {"num_hidden": 4, "no_bias": True}
    return _types(
        mx,
        dense=lambda: nd.FullyConnected(x, w, **dense),
        dense_bias=lambda: nd.FullyConnected(data=x, weight=w, bias=nd.ones(4), num_hidden=4),
        dense_mixed=lambda: nd.op.FullyConnected(b, w, **dense),
        dense_double=lambda: nd.FullyConnected(
            x.astype("float64"), w.astype("float64"), **dense
        ),
        conv=lambda: nd.Convolution(image, filters, kernel=(3, 3), num_filter=3, no_bias=True),
        exp=lambda: nd.exp(b), method=lambda: b.sum(), relu=lambda: nd.relu(b),
        either=lambda: nd.Activation(b, act_type="tanh"),
        condition=lambda: nd.Activation(b, act_type="softrelu"),
        by_position=lambda: nd.Activation(b, "softrelu"),
        leaky=lambda: nd.LeakyReLU(b, act_type="leaky"),
        elu=lambda: nd.LeakyReLU(b, act_type="elu"),
        add=lambda: b + x, add_right=lambda: x + b, add_low=lambda: b + b, times=lambda: b * b,
        number=lambda: b * 2, power=lambda: b**2, reverse=lambda: 1 / b, greater=lambda: b > x,
        equal=lambda: b == b, maximum=lambda: nd.maximum(b, x), total=lambda: nd.add_n(b, x, x),
        stack=lambda: nd.stack(b, x), concat=lambda: nd.concat(b, b, dim=0),
        where=lambda: nd.where(b, x, x), dot=lambda: nd.dot(b, x.T), integers=lambda: nd.exp(
            nd.ones(2, dtype="int32")
        ),
        reshape=lambda: b.reshape((3, 2)), operator=lambda: nd.reshape(b, shape=(3, 2)),
        index=lambda: b[0], detached=lambda: b.detach(), cumsum=lambda: nd.cumsum(b),
        norm=lambda: b.norm(), softmax=lambda: nd.softmax(b), dropout=lambda: nd.Dropout(b),
        layer_norm=lambda: nd.LayerNorm(b, nd.ones(3), nd.ones(3)),
        batch_norm=lambda: nd.BatchNorm(b, *[nd.ones(3) for _ in range(4)]),
        loop=lambda: nd.contrib.foreach(lambda d, s: (nd.exp(d), s), b, [x])[0],
        clip=lambda: b.clip(0, 1), scatter=lambda: nd.sparse.dot(b, x.T),
    )  # fmt: skip


@script
def lists_are_given(mx):
    nd = mx.nd
    mx.contrib.amp.init(
        "bfloat16", target_precision_ops=["exp"], fp32_ops=["relu", "FullyConnected"],
        conditional_fp32_ops=[("Activation", "act_type", ["tanh"])],
    )  # fmt: skip
    x = nd.ones((2, 3))
    b = nd.amp_cast(x, dtype=low(mx))
    return _types(
        mx,
        exp=lambda: nd.exp(x), relu=lambda: nd.relu(b), sum=lambda: nd.sum(b), add=lambda: b + x,
        dense=lambda: nd.FullyConnected(b, nd.ones((4, 3)), num_hidden=4, no_bias=True),
        tanh=lambda: nd.Activation(b, act_type="tanh"),
        soft=lambda: nd.Activation(b, act_type="softrelu"),
    )  # fmt: skip


def _graphs(mx: Any, dtype: str) -> dict[str, Any]:
    sym = mx.sym
    mx.contrib.amp.init(dtype)
    d = sym.Variable("data")
    f = sym.FullyConnected(d, num_hidden=4, name="fc")
    graphs = {
        "dense": f,
        "exp": sym.exp(f, name="e"),
        "named": sym.FullyConnected(data=d, weight=sym.Variable("w"), num_hidden=3),
        "sum": d + f,
        "number": d**2,
        "concat": sym.concat(d, f, dim=1, name="c"),
        "one": sym.concat(f, name="c"),
        "condition": sym.Activation(f, act_type="softrelu"),
        "relu": sym.Activation(f, act_type="relu"),
        "norm": sym.BatchNorm(f, name="bn"),
        "loss": sym.SoftmaxOutput(f, name="so"),
        "twice": sym.linalg.gemm2(d, d),
        "box": sym.contrib.box_iou(d, d, format="corner"),
        "method": f.exp().sum(),
        "table": sym.Embedding(d, input_dim=3, output_dim=4, name="em"),
        "outputs": sym.split(f, num_outputs=2)[1] + d,
        "states": sym.contrib.SyncBatchNorm(f, key="k", name="s"),
    }
    with mx.AttrScope(ctx_group="dev1"), mx.name.Prefix("pre_"):
        graphs["scopes"] = sym.FullyConnected(d, num_hidden=4)
    return {name: graph(symbol) for name, symbol in graphs.items()}


@script
def symbols_are_cast_to_float16(mx):
    return _graphs(mx, "float16")


@script
def symbols_are_cast_to_bfloat16(mx):
    return _graphs(mx, "bfloat16")


@script
def networks_compute_in_bfloat16(mx):
    """All numbers have few digits, so that every type has them."""
    gluon, nd = mx.gluon, mx.nd
    mx.contrib.amp.init("bfloat16")
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, in_units=3, activation="relu"))
        net.add(gluon.nn.Dense(2, in_units=4))
    net.initialize(mx.init.Constant(0.5))
    loss = gluon.loss.L2Loss()
    data, label = nd.array([[1, 2, 3], [2, 0, 2]]), nd.array([[1, 0], [0, 1]])
    seen = []
    for _ in range(2):
        with mx.autograd.record():
            output = net(data)
            value = loss(output, label)
        value.backward()
        gradients = [p.grad() for p in net.collect_params().values()]
        seen.append([type_of(output), value, gradients])
        net.hybridize()
    symbol = loss(net(mx.sym.Variable("data")), mx.sym.Variable("label"))
    return seen, graph(symbol)


@script
def it_begins_once(mx):
    amp = mx.contrib.amp
    trainer = mx.gluon.Trainer([_parameter(mx)], "sgd")
    before = attempts(
        mx,
        trainer=lambda: amp.init_trainer(trainer),
        wrong=lambda: amp.init("float32"),
        unknown=lambda: amp.init("float16", target_precision_ops=["nothing"]),
        first=lambda: amp.init("bfloat16"),
        again=lambda: amp.init("float16"),
        again_wrong=lambda: amp.init("float32"),
    )
    x = mx.nd.ones((2, 3))
    kept = type_of(mx.nd.FullyConnected(x, x, num_hidden=2, no_bias=True))
    after = attempts(
        mx,
        optimizer=lambda: amp.init_trainer(mx.optimizer.SGD()),
        text=lambda: amp.init_trainer("a"),
    )
    return before, kept, after


def _parameter(mx: Any) -> Any:
    parameter = mx.gluon.Parameter("w", shape=(2,), init="ones")
    parameter.initialize()
    return parameter
