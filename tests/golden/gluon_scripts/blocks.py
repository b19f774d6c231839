"""Blocks as users write them: names, children, hooks, calls, hybridized calls, texts."""

from __future__ import annotations

import numpy as np

from ._facts import (
    attempt,
    attempts,
    fill,
    graph,
    leaf,
    numbers,
    parameters,
    recorded,
    script,
    warned,
)


def _x(mx, *shape, name="x"):
    return mx.nd.array(numbers(name, shape or (2, 3)))


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _mlp(mx, **kwargs):
    """Two dense layers with known shapes, filled."""
    nn = mx.gluon.nn
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu", in_units=3), nn.Dense(2, in_units=4))
    net.initialize()
    return fill(net)


# Names


@script
def names_of_blocks(mx):
    """Counters per hint: the global one, and one per scope."""
    nn = mx.gluon.nn
    seen = [[b.name, b.prefix, b.params.prefix] for b in (nn.Dense(1), nn.Dense(1))]

    class Net(mx.gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a = nn.Dense(2, in_units=2)
                self.b = nn.Dense(2, in_units=2, prefix="own_")
                self.c = nn.Dense(2, in_units=2)
                self.d = nn.HybridSequential(prefix="")
                with self.d.name_scope():
                    self.d.add(nn.Dense(2, in_units=2), nn.Conv2D(2, 3, in_channels=1))
            self.e = nn.Dense(2, in_units=2)

    for net in (Net(), Net(prefix="my_"), Net(prefix="")):
        children = [child.name for child in net._children.values()]
        seen.append([net.name, children, parameters(net)])
    first = Net()
    with first.name_scope():
        later = [nn.Dense(1).name, nn.Dense(1).name]
    with first.name_scope():
        seen.append([later, nn.Dense(1).name, mx.sym.relu(mx.sym.var("x")).name])
    with mx.name.Prefix("outer_"):
        seen.append([nn.Dense(1).name, Net().a.name, nn.Dense(1, prefix="p_").name])
    return seen


@script
def hints_of_classes(mx):
    nn, seen = mx.gluon.nn, []
    seen += [nn.Conv1D(1, 1), nn.Conv2D(1, 1), nn.Conv3DTranspose(1, 1), nn.Dense(1)]
    seen += [nn.MaxPool2D(), nn.AvgPool1D(), nn.GlobalAvgPool2D(), nn.GlobalMaxPool3D()]
    seen += [nn.Activation("relu"), nn.Activation("tanh"), nn.LeakyReLU(0.1), nn.PReLU(), nn.GELU()]
    seen += [nn.BatchNorm(), nn.LayerNorm(), nn.InstanceNorm(), nn.Embedding(2, 2), nn.Flatten()]
    seen += [nn.Dropout(0.5), nn.HybridLambda("relu"), nn.Lambda("relu"), nn.HybridSequential()]

    class ResNetV1(mx.gluon.HybridBlock):
        pass

    class _Hidden2(mx.gluon.Block):
        pass

    seen += [ResNetV1(), _Hidden2(), ResNetV1(prefix="r"), nn.Sequential(prefix="s_")]
    return [block.name for block in seen]


@script
def nodes_of_networks(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten())
        net.add(nn.Dense(4, activation="tanh"), nn.Dropout(0.5), nn.Dense(2, use_bias=False))
    output = net(mx.sym.var("data"))
    again = net(mx.sym.var("data"))
    both = net(mx.sym.Group([output, again])[0])
    loss = mx.gluon.loss.SoftmaxCELoss()(output, mx.sym.var("label"))
    listed = [output.list_arguments(), output.list_auxiliary_states(), both.list_outputs()]
    return graph(loss), again.name, again.get_internals().list_outputs(), listed


@script
def names_of_own_operators(mx):
    """Nodes that hybrid_forward makes have the block's prefix; variables have parameters' names."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.scale = self.params.get("scale", shape=(3,), init="ones", lr_mult=2.0)
                self.dense = mx.gluon.nn.Dense(3, flatten=False)

        def hybrid_forward(self, F, x, scale):
            y = F.broadcast_mul(self.dense(x), scale) + x
            return F.concat(y, F.relu(y, name="named"), dim=0)

    net, other = Net(), Net(prefix="b_")
    x = mx.sym.var("x")
    return graph(net(x)), graph(other(net(x))), parameters(net), net.scale.name, net.name


# Children and attributes


@script
def children_and_parameters(mx):
    nn = mx.gluon.nn

    class Net(mx.gluon.Block):
        def __init__(self):
            super().__init__(prefix="net_")
            with self.name_scope():
                self.body = nn.Sequential()
                with self.body.name_scope():
                    for units in (4, 3):
                        self.body.add(nn.Dense(units, in_units=4))
                self.bias = self.params.get("bias", shape=(3,), init="zeros")
                self.register_child(nn.Dense(2, in_units=3), "head")
                self.register_child(nn.Activation("relu"))

        def forward(self, x):
            return self._children["head"](self.body(x) + self.bias.data())

    net = Net()
    net.initialize()
    fill(net)
    seen = [list(net._children), list(net._reg_params), parameters(net), list(net.params.keys())]
    seen += [list(net.collect_params("weight")), list(net.collect_params(".*weight"))]
    seen += [list(net.collect_params(".*head|.*bias|net_dense0_weight"))]
    seen += [net.body[0].name, len(net.body), [b.name for b in net.body], net(_x(mx, 2, 4))]
    visited = []
    seen += [net.apply(lambda block: visited.append(block.name)) is net, visited]
    net.body = nn.Sequential(prefix="other_")
    seen += [list(net._children), parameters(net)]
    seen.append(
        attempts(
            mx,
            child_as_number=lambda: setattr(net, "body", 3),
            parameter_as_number=lambda: setattr(net, "bias", 3),
            child_of_another_kind=lambda: setattr(net, "body", nn.Dense(3)),
            block_as_parameter=lambda: setattr(net, "bias", nn.Dense(3)),
            registered_twice=lambda: setattr(net, "bias", net.params.get("other", shape=(2,))),
        )
    )
    return seen


@script
def attributes_that_are_not_children(mx):
    """Lists and dicts of blocks are not registered, and users are told so."""
    nn = mx.gluon.nn

    class Net(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.layers = [nn.Dense(2, in_units=2), nn.Dense(2, in_units=2)]
                self.named = {"a": nn.Dense(2, in_units=2)}
                self.kept = nn.Dense(2, in_units=2)

        def forward(self, x):
            return self.kept(x)

    net = Net()
    seen = [list(net._children), warned(mx, lambda: list(net.collect_params()))]
    for layer in (*net.layers, net.named["a"]):
        net.register_child(layer)
    return [*seen, list(net._children), warned(mx, lambda: list(net.collect_params())), repr(net)]


@script
def sequences(mx):
    nn = mx.gluon.nn
    seen = []
    for kind in (nn.Sequential, nn.HybridSequential):
        net = kind(prefix="s_")
        with net.name_scope():
            net.add(*(nn.Dense(n, in_units=3) for n in (3, 3, 2)))
        net.initialize()
        fill(net)
        head, tail = net[:2], net[-1]
        seen += [
            len(net),
            net[1].name,
            tail.name,
            type(head),
            head.name,
            len(head),
            parameters(head),
        ]
        seen += [[b.name for b in net], head(_x(mx)), attempt(mx, lambda net=net: net[7])]
        seen += [repr(net), repr(head), repr(kind())]
    return seen


@script
def hybrid_blocks_take_hybrid_blocks(mx):
    nn = mx.gluon.nn

    class Plain(mx.gluon.Block):
        def forward(self, x):
            return x

    hybrid, plain = nn.HybridSequential(), nn.Sequential()

    def mixed():
        net = nn.Sequential()
        net.add(nn.Dense(2), Plain())
        net.hybridize()
        return [child._active for child in net._children.values() if hasattr(child, "_active")]

    return attempts(
        mx,
        add=lambda: hybrid.add(Plain()),
        attribute=lambda: setattr(mx.gluon.HybridBlock(), "child", Plain()),
        nested=lambda: hybrid.add(nn.Sequential()),
        warned=lambda: warned(mx, lambda: plain.hybridize()),
        all_hybrid=lambda: warned(mx, lambda: [plain.add(nn.Dense(1)), plain.hybridize()]),
        mixed=mixed,
    )


@script
def shared_parameters(mx):
    """Layers that are given another's parameters hold the same objects under the first names."""
    nn = mx.gluon.nn

    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a = nn.Dense(3, in_units=3)
                self.b = nn.Dense(3, in_units=3, params=self.a.params)
                self.c = nn.Dense(3, in_units=3)

        def hybrid_forward(self, F, x):
            return self.c(self.b(self.a(x)))

    net = Net(prefix="net_")
    whole = Net(prefix="other_", params=net.collect_params())
    net.initialize()
    fill(net)
    x = _x(mx)
    seen = [parameters(net), parameters(whole), net.a.weight is net.b.weight, whole.a.name]
    seen += [net(x), whole(x), whole.c.weight is net.c.weight]
    recorded(mx, net, x).backward()
    seen += [net.a.weight.grad()]
    net.hybridize()
    recorded(mx, net, x).backward()
    seen += [net.a.weight.grad(), net(mx.sym.var("x")).list_arguments()]
    refused = attempt(mx, lambda: nn.Dense(5, in_units=3, params=net.a.params))
    missing = attempt(mx, lambda: nn.Dense(3, in_units=3, params=nn.Activation("relu").params))
    return [*seen, refused, missing]


# Parameter dictionaries as blocks give them


@script
def dictionaries_of_parameters(mx):
    net = _mlp(mx, prefix="net_")
    held = net.collect_params()
    seen = [held.prefix, list(held), [p.name for p in held.values()], "net_dense0_weight" in held]
    seen += [held["net_dense0_bias"].shape, [n for n, _ in held.items()], repr(held)]
    seen += [repr(net[0].params), repr(net.params), repr(held["net_dense1_weight"])]
    return [
        *seen,
        attempts(
            mx,
            len=lambda: len(held),
            missing=lambda: held["none"],
            short_name=lambda: held["dense0_weight"],
        ),
    ]


# Hooks


@script
def hooks(mx):
    net, calls = _mlp(mx, prefix="net_"), []

    def shapes(values):
        return [v.shape if hasattr(v, "shape") else type(v).__name__ for v in values]

    def before(block, inputs):
        calls.append(["before", block.name, type(inputs), shapes(inputs)])
        return (inputs[0] * 0,)

    def after(block, inputs, output):
        calls.append(["after", block.name, shapes(inputs), shapes([output])])
        return output * 0

    handles = [net.register_forward_pre_hook(before), net.register_forward_hook(after)]
    handles.append(net[0].register_forward_hook(after))
    x = _x(mx)
    seen = [net(x), list(calls)]
    net.hybridize()
    for _ in range(2):
        calls.clear()
        seen += [net(x), list(calls)]
    handles[0].detach()
    handles[2].detach()
    calls.clear()
    seen += [net(x), list(calls)]
    with handles[1]:
        pass
    calls.clear()
    return [*seen, net(x), calls, attempt(mx, handles[1].detach)]


@script
def hooks_on_operators(mx):
    seen = []
    for hybridized in (False, True):
        for everything in (False, True):
            net, calls = _mlp(mx, prefix="net_"), []
            if hybridized:
                net.hybridize()
            net(_x(mx))
            net.register_op_hook(
                lambda *names, calls=calls: calls.append(list(map(_text, names[:2]))), everything
            )
            net(_x(mx))
            seen.append([hybridized, everything, calls])
    return seen


@script
def calls_are_positional(mx):
    net = _mlp(mx)
    x = _x(mx)

    class Two(mx.gluon.Block):
        def forward(self, x, y=None, scale=2):
            return x * scale if y is None else x + y

    two = Two()
    return attempts(
        mx,
        positional=lambda: [two(x), two(x, x), two(x, None, 3)],
        keyword=lambda: two(x, y=x),
        keyword_of_sequence=lambda: net(x=x),
        nothing=lambda: two(),
        too_many=lambda: two(x, x, x, x),
        base=lambda: mx.gluon.Block()(x),
        hybrid_base=lambda: mx.gluon.HybridBlock()(x),
        number=lambda: two(3),
    )


# Calls


@script
def inputs_of_hybrid_blocks(mx):
    class Sum(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return x + y

    net, x = Sum(), _x(mx)
    s = mx.sym.var("s")
    other = x.as_in_context(mx.cpu(1))

    def calls():
        return attempts(
            mx,
            arrays=lambda: net(x, x),
            symbols=lambda: net(s, s).list_arguments(),
            mixed=lambda: net(x, s),
            mixed_first_symbol=lambda: net(s, x),
            numbers=lambda: net(3, 4),
            nothing=lambda: net(None, None),
            array_and_number=lambda: net(x, 2),
            one=lambda: net(x),
            three=lambda: net(x, x, x),
            contexts=lambda: net(x, other),
            numpy=lambda: net(x.asnumpy(), x.asnumpy()),
        )

    plain = calls()
    net.hybridize()
    return plain, calls()


@script
def structures(mx):
    """Nested lists and None among inputs and outputs keep their structure."""

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, states, mask=None):
            a, (b, c) = states
            y = x + a * b
            y = y if mask is None else y * mask
            return y, [c, (y * 2,)] if mask is None else [c]

    class Alone(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return [x * 2]

    class Hollow(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x, None

    def kinds(value):
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, *map(kinds, value)]
        return value

    x, y = _x(mx), _x(mx, name="y")
    seen = []
    for hybridized in (False, True):
        net, masked, alone, hollow = Net(), Net(), Alone(), Hollow()
        for block in (net, masked, alone, hollow):
            if hybridized:
                block.hybridize()
        seen.append(attempt(mx, lambda net=net: kinds(net(x, [y, [x, y]]))))
        seen.append(attempt(mx, lambda net=net: kinds(net(x, [y, [y, y]]))))
        seen.append(attempt(mx, lambda net=net: kinds(net(x, (y, (x, y))))))
        seen.append(attempt(mx, lambda masked=masked: kinds(masked(x, [y, [x, y]], y))))
        seen.append(attempt(mx, lambda masked=masked: kinds(masked(x, [y, [x, y]]))))
        seen.append(attempt(mx, lambda net=net: kinds(net(x, [y, x]))))
        seen.append(attempt(mx, lambda net=net: kinds(net(x, [y, [x, None]]))))
        seen.append(attempt(mx, lambda alone=alone: kinds(alone(x))))
        seen.append(attempt(mx, lambda hollow=hollow: kinds(hollow(x))))
    return seen


@script
def optional_inputs(mx):
    """None where a value is optional, in both orders of first calls."""

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, y=None):
            return x if y is None else x + y

    x, seen = _x(mx), []
    for hybridized in (False, True):
        for inputs in ([(x,), (x, None), (x, x)], [(x, None), (x,)], [(x, x), (x,), (x, None)]):
            net = Net()
            if hybridized:
                net.hybridize()
            seen.append([attempt(mx, lambda net=net, given=given: net(*given)) for given in inputs])
    return seen


@script
def python_state_is_traced_once(mx):
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.factor, self.traced = 2, 0

        def hybrid_forward(self, F, x):
            self.traced += 1
            return x * self.factor if mx.autograd.is_training() else x * -self.factor

    x, net, seen = mx.nd.ones((2,)), Net(), []

    def both():
        return net(x), recorded(mx, net, x), net.traced

    seen.append(both())
    net.factor = 3
    seen.append(both())
    net.hybridize()
    seen.append(both())
    net.factor = 4
    seen.append(both())
    net.hybridize()
    seen.append([recorded(mx, net, x), *both()])
    seen.append([net(mx.nd.ones((3, 1))), net.traced])
    net.hybridize(False)
    seen.append(both())
    net.hybridize(static_alloc=True, static_shape=True, inline_limit=3)
    return [*seen, both()]


@script
def shapes_in_hybrid_forward(mx):
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.reshape(x, (x.shape[0] * x.shape[1],))

    net = Net()
    seen = [attempt(mx, lambda: net(_x(mx)))]
    net.hybridize()
    return [*seen, attempt(mx, lambda: net(_x(mx))), attempt(mx, lambda: net(mx.sym.var("x")))]


@script
def unused_inputs_and_parameters(mx):
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.used = self.params.get("used", shape=(3,), init="ones")
                self.idle = self.params.get("idle", shape=(3,), init="ones")

        def hybrid_forward(self, F, x, y, used, idle):
            return F.broadcast_add(x, used)

    x, seen = _x(mx), []
    for hybridized in (False, True):
        net = Net()
        net.initialize()
        if hybridized:
            net.hybridize()
        seen += [warned(mx, lambda net=net: net(x, x)), warned(mx, lambda net=net: net(x, x))]
        recorded(mx, net, x, x).backward()
        seen.append([net.used.grad(), net.idle.grad()])
    return seen


@script
def deferred_shapes(mx):
    """Shapes follow from the first input, or from ``infer_shape``; a batch may change later."""
    nn, seen = mx.gluon.nn, []
    for hybridized in (False, True):
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(3))
        if hybridized:
            net.hybridize()
        seen.append(parameters(net))
        seen.append(attempt(mx, lambda net=net: net(_x(mx, 2, 3, 5, 5))))
        net.initialize(mx.init.One())
        seen.append(attempt(mx, lambda net=net: net[0].weight.data()))
        seen.append([net(_x(mx, 2, 3, 5, 5)), parameters(net)])
        seen.append(net(_x(mx, 1, 3, 5, 5)))
        seen.append(attempt(mx, lambda net=net: net(_x(mx, 2, 4, 5, 5))))
        seen.append(attempt(mx, lambda net=net: net(_x(mx, 2, 3, 6, 6))))
    inferred = nn.Dense(3, prefix="d_")
    inferred.infer_shape(_x(mx, 2, 7))
    seen.append([parameters(inferred), inferred.weight.dtype])
    for dtype in ("float32", "float16"):
        values = _x(mx, 2, 7).astype(dtype)
        seen.append(attempt(mx, lambda values=values: inferred.infer_type(values)))
    return [*seen, inferred.weight.dtype, inferred.bias.dtype]


@script
def hybridized_as_plain(mx):
    """Values, gradients and statistics of a network in both modes."""
    nn, seen = mx.gluon.nn, []
    for flags in (None, {}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}):
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Conv2D(2, 3, in_channels=1), nn.BatchNorm(in_channels=2), nn.Flatten())
            net.add(nn.Dense(3, activation="tanh", in_units=8), nn.Dense(1, in_units=3))
        net.initialize()
        fill(net)
        if flags is not None:
            net.hybridize(**flags)
        x = leaf(mx, numbers("picture", (3, 1, 4, 4)))
        for _ in range(2):
            y = recorded(mx, net, x)
            y.backward()
        held = net.collect_params()
        gradients = [p.grad() for p in held.values() if p.grad_req != "null"]
        statistics = [p.data() for p in held.values() if p.grad_req == "null"]
        seen.append([y, x.grad, gradients, statistics, net(x)])
    return seen


@script
def hybrid_block_with_forward(mx):
    """A HybridBlock may define ``forward`` itself; a Block's forward looks at values."""

    class Own(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = mx.gluon.nn.Dense(2, in_units=3)

        def forward(self, x):
            return self.dense(x) if x.sum().asscalar() > 0 else x

    class Twice(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = mx.gluon.nn.Dense(3, in_units=3, flatten=False)

        def forward(self, x):
            return super().forward(x * 2) + 1

        def hybrid_forward(self, F, x):
            return F.tanh(self.dense(x))

    seen, x = [], mx.nd.array([[1.0, 2.0, 3.0]])
    for hybridized in (False, True):
        for kind in (Own, Twice):
            net = kind()
            net.initialize(mx.init.One())
            if hybridized:
                net.hybridize()
            seen.append([attempt(mx, lambda net=net: net(x)), attempt(mx, lambda net=net: net(-x))])
    return seen


@script
def calls_on_symbols(mx):
    """A network called on symbols is a symbol that Module and executors run."""
    net = _mlp(mx, prefix="net_")
    out = net(mx.sym.var("data") * 2)
    x = _x(mx)
    arguments = {name: p.data() for name, p in net.collect_params().items()}
    executor = out.bind(mx.cpu(), {**arguments, "data": x})
    pair = mx.sym.Group([mx.sym.var("a"), mx.sym.var("b")])
    seen = [out.list_arguments(), executor.forward()[0], net(x * 2)]
    return [*seen, attempt(mx, lambda: net(pair)), net(pair[1]).list_arguments()]


@script
def casting(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=3), nn.BatchNorm(in_channels=2), nn.Dense(1))
    net.initialize()
    seen = []
    for dtype in ("float16", np.float64):
        net.cast(dtype)
        seen.append({name: p.dtype for name, p in net.collect_params().items()})
        seen.append([net[0].weight.data().dtype, net[1].gamma.data().dtype])
    seen.append(net(_x(mx).astype("float64")).dtype)
    net.hybridize()
    seen.append([net(_x(mx).astype("float64")).dtype])
    seen.append(attempt(mx, lambda: net(_x(mx))))
    net.cast("float32")
    return [*seen, net(_x(mx)).dtype, net[0].weight.grad().dtype]


@script
def modes_of_gradients(mx):
    """``setattr``, frozen layers, accumulated gradients, ``zero_grad``."""
    net, x, seen = _mlp(mx, prefix="net_"), _x(mx), []
    net[0].collect_params().setattr("grad_req", "null")
    recorded(mx, net, x).backward()
    seen += [attempt(mx, lambda: net[0].weight.grad()), net[1].weight.grad().copy()]
    net.collect_params().setattr("grad_req", "add")
    net.collect_params().zero_grad()
    for _ in range(2):
        recorded(mx, net, x).backward()
    seen += [net[0].weight.grad().copy(), net[1].bias.grad().copy()]
    net.hybridize()
    recorded(mx, net, x).backward()
    seen += [net[0].weight.grad().copy(), net[1].bias.grad().copy()]
    net.collect_params().zero_grad()
    return [*seen, net[0].weight.grad()]


@script
def contexts_of_networks(mx):
    """Parameters on two contexts; the input's decides."""
    nn, x = mx.gluon.nn, _x(mx)
    net = nn.Dense(2, in_units=3, prefix="d_")
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    fill(net)
    seen = []
    for _ in range(2):
        parts = mx.gluon.utils.split_and_load(x, [mx.cpu(0), mx.cpu(1)])
        with mx.autograd.record():
            outputs = [net(part) for part in parts]
        mx.autograd.backward(outputs)
        seen += [[[y, str(y.context)] for y in outputs], net.weight.list_grad()]
        net.hybridize()
    third = attempt(mx, lambda: net(x.as_in_context(mx.cpu(2))))
    net.collect_params().reset_ctx(mx.cpu(1))
    moved = net(x.as_in_context(mx.cpu(1)))
    return [*seen, third, moved, str(moved.context), net.weight.list_ctx()]


# Texts


@script
def texts_of_blocks(mx):
    nn = mx.gluon.nn

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.features = nn.HybridSequential()
                self.features.add(nn.Conv2D(2, kernel_size=3, strides=2, padding=1, groups=1))
                self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
                self.features.add(nn.Dense(3), nn.Dense(2, activation="tanh", use_bias=False))
                self.output = nn.Conv2DTranspose(2, 2, in_channels=4)
                self.scale = self.params.get("scale", shape=(1,))

        def hybrid_forward(self, F, x, scale):
            return self.output(self.features(x))

    class Empty(mx.gluon.Block):
        pass

    net = Net()
    seen = [repr(net), str(net), repr(net.features[0]), repr(Empty()), repr(nn.Sequential())]
    return [*seen, repr(net.collect_params()), repr(net.scale)]


@script
def summaries(mx):
    import contextlib
    import io

    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Flatten(), nn.Dense(4))
        net.add(nn.Dense(4, in_units=4), nn.Activation("relu"))
        net.add(nn.Dense(4, in_units=4, params=net[4].params))

    def printed(*inputs, block=net):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            block.summary(*inputs)
        return text.getvalue()

    class Residual(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.body = nn.HybridSequential()
                self.body.add(nn.Dense(3, in_units=3), nn.HybridSequential())
                self.scale = self.params.get("scale", shape=(1, 3), init="ones", grad_req="null")

        def hybrid_forward(self, F, x, scale):
            return F.broadcast_mul(self.body(x), scale) + self.body[0](x)

    class Stack(nn.HybridSequential):
        pass

    class Several(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.stack = Stack()
                self.stack.add(Residual(), Residual(), nn.Dropout(0.5))

        def forward(self, x, pair):
            return [self.stack(x + pair[0]), (pair[1],)]

    several, y = Several(), _x(mx)
    several.initialize()
    x = _x(mx, 1, 1, 4, 4)
    before = attempt(mx, lambda: printed(x))
    net.initialize()
    seen = [before, attempt(mx, lambda: printed(x)), attempt(mx, lambda: printed(x))]
    net.hybridize()
    seen += [attempt(mx, lambda: printed(x)), [len(b._forward_hooks) for b in net]]
    seen += [attempt(mx, lambda: printed(y, [y, y], block=several))]
    wrong = attempt(mx, lambda: printed(x, [y, y], block=several))
    return [*seen, wrong, [len(b._forward_hooks) for b in several.stack]]


# Copies, flags, backends


@script
def copies_of_networks(mx):
    """``copy.deepcopy`` of a network: own parameters of the same values and names."""
    import copy

    net, x = _mlp(mx, prefix="net_"), _x(mx)

    def copied():
        other = copy.deepcopy(net)
        seen = [list(other.collect_params()), other[0].weight is net[0].weight, other(x)]
        other[0].weight.set_data(net[0].weight.data() * 0)
        return [*seen, bool((net[0].weight.data().asnumpy() == 0).all()), other(x)]

    seen = [attempt(mx, copied)]
    net.hybridize()
    seen += [attempt(mx, copied), net(x)]
    return [*seen, attempt(mx, copied)]


@script
def flags_of_hybridize(mx):
    seen = []
    for flags in (
        {"static_alloc": True, "static_shape": True, "inline_limit": 2},
        {"forward_bulk_size": 3, "backward_bulk_size": 4},
        {"static_shape": True},
        {"no_such_flag": 1},
        {"inline_limit": "text"},
    ):
        net = _mlp(mx)
        seen.append(attempt(mx, lambda net=net, flags=flags: [net.hybridize(**flags), net(_x(mx))]))
    net = _mlp(mx)
    seen.append(attempt(mx, lambda: [net.hybridize(True, static_alloc=True), net._active]))
    seen.append([net[0]._active, net.hybridize(False), net._active, net[1]._active])
    return seen


@script
def optimized_networks(mx):
    x, seen = _x(mx), []
    for named in ({}, {"backend": None}, {"backend": "no_such_backend"}):
        net = _mlp(mx)
        seen.append(attempt(mx, lambda net=net, named=named: net.optimize_for(x, **named)))
        seen.append([net._active, attempt(mx, lambda net=net: net(x))])
    return seen
