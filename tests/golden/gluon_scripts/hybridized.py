"""Hybridized networks over their lives: changes, modes, records, control flow, odd inputs."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, attempts, fill, folder, leaf, numbers, recorded, script


def _x(mx, *shape, name="x", dtype="float32"):
    return mx.nd.array(numbers(name, shape or (2, 3)), dtype=dtype)


def _mlp(mx, hybridized=True, **kwargs):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="tanh", in_units=3), nn.Dense(2, in_units=4))
    net.initialize(**kwargs)
    if hybridized:
        net.hybridize()
    return fill(net)


def _function(mx, function):
    """A block of one function of F and arrays."""

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *args):
            return function(F, *args)

    return Net()


@script
def changes_are_seen(mx):
    """Whatever changes parameters or children between two calls, the next call sees it."""
    net, other, x = _mlp(mx), _mlp(mx, False), _x(mx)
    held = net.collect_params()
    weight = net[1].weight
    seen = [net(x)]

    def file():
        with folder():
            fill({n: other.collect_params()[n] for n in reversed(list(held))})
            other.save_parameters("net")
            net.load_parameters("net")

    def child():
        layer = mx.gluon.nn.Dense(3, in_units=2, prefix="last_")
        layer.initialize(mx.init.One())
        net.add(layer)

    def written():
        weight.data()[:] = 1

    def updated():
        mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))(
            0, weight.data(), weight.data()
        )

    for change in (
        lambda: weight.set_data(weight.data() * 2),
        written,
        updated,
        file,
        lambda: net[1].initialize(mx.init.One(), force_reinit=True),
        child,
        lambda: net.collect_params().initialize(mx.init.Constant(0.5), force_reinit=True),
        lambda: setattr(weight, "grad_req", "null"),
        lambda: net[0].hybridize(False),
        lambda: net.hybridize(),
    ):
        change()
        seen += [net(x), net(x)]
    net.cast("float64")
    seen.append(net(x.astype("float64")))
    net.collect_params().reset_ctx(mx.cpu(1))
    y = net(x.astype("float64").as_in_context(mx.cpu(1)))
    return [*seen, y, str(y.context)]


@script
def parts_are_hybridized(mx):
    """A hybridized part of a plain network, and a plain part of a hybridized one."""
    seen = []
    for parts in ((0,), (1,), (0, 1), ()):
        net, x = _mlp(mx, False), leaf(mx, numbers("x", (2, 3)))
        for part in parts:
            net[part].hybridize(static_alloc=part == 1)
        for _ in range(2):
            y = recorded(mx, net, x)
            y.backward()
            seen.append([y, x.grad.copy(), net[0].weight.grad().copy()])
            net.hybridize()
            if parts:
                net[parts[0]].hybridize(False)
    return seen


@script
def modes_of_statistics(mx):
    """Statistics and dropout by mode: outside, trained without a record, recorded in inference."""
    nn, autograd = mx.gluon.nn, mx.autograd
    seen = []
    for hybridized in (False, True):
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.BatchNorm(in_channels=3, momentum=0.5), nn.Dropout(1e-9))
        net.initialize()
        if hybridized:
            net.hybridize()
        fill(net)
        mean = net[0].running_mean
        x = leaf(mx, numbers("x", (4, 3)))
        seen += [net(x), mean.data().copy()]
        with autograd.train_mode():
            seen += [net(x), mean.data().copy()]
        with autograd.record():
            y = net(x)
            with autograd.predict_mode():
                z = net(x)
            product = y * z
        product.backward()
        seen += [y, z, x.grad.copy(), mean.data().copy(), net[0].gamma.grad().copy()]
        y = recorded(mx, net, x, train_mode=False)
        y.backward()
        seen += [y, x.grad.copy(), mean.data().copy(), net(x)]
    return seen


@script
def records_of_hybridized_blocks(mx):
    """One block twice, chains of blocks, ``retain_graph``, ``detach``, ``autograd.grad``."""
    net, autograd, seen = _mlp(mx), mx.autograd, []
    square = _function(mx, lambda F, x: (x * x, F.sum(x)))
    square.hybridize()
    x = leaf(mx, numbers("x", (2, 3)))
    with autograd.record():
        a, b = net(x), net(x * 2)
        c, d = square(a)
        y = c.sum() + (b.detach() * a).sum() + d
    y.backward(retain_graph=True)
    seen += [y, x.grad.copy(), net[0].weight.grad().copy()]
    y.backward()
    seen += [x.grad.copy(), attempt(mx, y.backward)]
    with autograd.record():
        y, _ = square(net(x))
    seen += autograd.grad([y], [x, net[0].weight.data()], head_grads=[_x(mx, 2, 2, name="head")])
    with autograd.record():
        y = net(x)
        with autograd.pause():
            z = net(x)
    seen += [attempt(mx, z.backward), y]
    y.backward(_x(mx, 2, 2, name="head"))
    return [*seen, x.grad, net[1].weight.grad()]


@script
def second_order_through_blocks(mx):
    """A penalty of the gradient of a block with respect to its input."""
    seen = []
    for hybridized in (False, True):
        net = _function(mx, lambda F, x: F.sin(x))
        if hybridized:
            net.hybridize()
        x = leaf(mx, numbers("x", (2, 3)))
        with mx.autograd.record():
            (slope,) = mx.autograd.grad(net(x), x, create_graph=True, retain_graph=True)
            penalty = (slope * slope).sum()
        penalty.backward()
        seen += [penalty, x.grad]
    return seen


@script
def operators_in_hybrid_forward(mx):
    """What hybrid_forward may call of F, plain and hybridized."""
    x, y = _x(mx), mx.nd.array([[1, 0, 2], [0, 2, 1]])

    def spread(F, x, y):
        parts = F.split(x, num_outputs=3, axis=1)
        return F.concat(*reversed(list(parts)), dim=1), F.stack(x, x, axis=0)[0]

    def loop(F, x, y):
        out, state = F.contrib.foreach(lambda row, s: (row * s, s + row), x, F.sum(x, axis=0))
        return out, state

    def condition(F, x, y):
        return F.contrib.cond(F.sum(x) > 0, lambda: x * 2, lambda: x - 1)

    def rounds(F, x, y):
        _, (_, total) = F.contrib.while_loop(
            lambda i, s: i < 3,
            lambda i, s: ([s], [i + 1, s * 2]),
            [F.sum(y) - 6, x],
            max_iterations=5,
        )
        return total

    functions = {
        "operators of symbols": lambda F, x, y: -(2 - x) / (y + 1) ** 2 + (x > 0) * (y == 1),
        "methods": lambda F, x, y: x.reshape((-1,)).expand_dims(0).sum(axis=1) + y.mean().sqrt(),
        "creation": lambda F, x, y: x + F.zeros((2, 3)) + F.ones_like(y) * F.full((2, 3), 4),
        "shapes": lambda F, x, y: F.reshape(x, shape=(0, -1, 1)).transpose((1, 0, 2)).flatten(),
        "slices": lambda F, x, y: F.slice_axis(x, axis=1, begin=0, end=2) + x.slice_like(y).slice(
            begin=(None, 1), end=(None, None)
        ),
        "one hot": lambda F, x, y: F.pick(F.log_softmax(x), y.slice_axis(1, 0, 1).reshape((-1,))),
        "several": spread,
        "loop": loop,
        "condition": condition,
        "rounds": rounds,
        "identity": lambda F, x, y: x,
        "same twice": lambda F, x, y: [x * 2] * 2,
        "no operator": lambda F, x, y: [y, x, y],
        "constant": lambda F, x, y: F.ones((2, 2)),
        "linalg": lambda F, x, y: F.linalg.gemm2(x, y, transpose_b=True) + F.dot(x, y.T),
        "blocked": lambda F, x, y: F.BlockGrad(x) * x,
    }  # fmt: skip
    seen = {}
    for name, function in functions.items():
        net = _function(mx, function)
        plain = attempt(mx, lambda net=net: net(x, y))
        net.hybridize()
        seen[name] = [plain, attempt(mx, lambda net=net: net(x, y))]
    return seen


@script
def gradients_of_control_flow(mx):
    seen = []
    for hybridized in (False, True):

        class Net(mx.gluon.HybridBlock):
            def __init__(self):
                super().__init__(prefix="net_")
                with self.name_scope():
                    self.weight = self.params.get("weight", shape=(3,), init="ones")

            def hybrid_forward(self, F, x, weight):
                def body(row, state):
                    new = F.tanh(row * weight + state)
                    return new, new

                outputs, _ = F.contrib.foreach(body, x, F.zeros_like(weight))
                return outputs

        net = Net()
        net.initialize()
        if hybridized:
            net.hybridize()
        x = leaf(mx, numbers("x", (4, 3)))
        recorded(mx, net, x).backward()
        seen += [net(x), x.grad, net.weight.grad()]
    return seen


@script
def inputs_that_vary(mx):
    """Batches, dtypes, views and integers after a first call with something else."""
    seen = []
    for hybridized in (False, True):
        net = _mlp(mx, hybridized)
        x = _x(mx, 6, 3)
        twice = _function(mx, lambda F, x: x * 2)
        if hybridized:
            twice.hybridize()
        seen.append(
            attempts(
                mx,
                batch=lambda net=net, x=x: [net(x), net(x[:2]), net(x[1:4])],
                vector=lambda net=net, x=x: net(x[3]),
                four_axes=lambda net=net, x=x: net(x[:2].reshape((2, 3, 1, 1))),
                wrong=lambda net=net, x=x: net(x.reshape((3, 6))),
                again=lambda net=net, x=x: net(x),
                other_dtype=lambda net=net, x=x: net(x.astype("float64")),
                integers=lambda twice=twice, x=x: [
                    twice(x), twice(x.astype("int32")), twice(x.astype("float64")), twice(x > 0)
                ],
                views=lambda twice=twice, x=x: [twice(x[:, 1]), twice(x.T), twice(x[::2])],
            )
        )  # fmt: skip
    return seen


@script
def outputs_are_arrays_of_their_own(mx):
    """Writing to an output changes neither inputs, nor parameters, nor later outputs."""
    seen = []
    for hybridized in (False, True):
        net, same = _mlp(mx, hybridized), _function(mx, lambda F, x: x * 1)
        if hybridized:
            same.hybridize(static_alloc=True)
        x = _x(mx)
        y, z = net(x), same(x)
        first = y.asnumpy().copy()
        y[:] = 7
        z += 1
        seen += [bool((net(x).asnumpy() == first).all()), y, z, x, same(x)]
        x[:] = 0
        seen += [same(x), z]
    return seen


@script
def random_operators_in_blocks(mx):
    """Shapes, ranges and seeds; the numbers themselves are each library's own."""
    seen = []
    for hybridized in (False, True):
        net = _function(mx, lambda F, x: (F.random.uniform(2, 3, shape=(50,)), F.Dropout(x, p=0.5)))
        if hybridized:
            net.hybridize()
        x = mx.nd.ones((50, 4))
        mx.random.seed(3)
        first = [v.asnumpy() for v in recorded(mx, net, x)]
        second = [v.asnumpy() for v in recorded(mx, net, x)]
        mx.random.seed(3)
        again = [v.asnumpy() for v in recorded(mx, net, x)]
        seen += [
            [bool((a == b).all()) for a, b in zip(first, other, strict=True)]
            for other in (second, again)
        ]
        low, high = float(first[0].min()), float(first[0].max())
        seen += [2 <= low < high < 3, sorted(set(first[1].ravel().tolist())), net(x)[1].mean()]
    return seen


@script
def user_operators_in_blocks(mx):
    """A CustomOp and an ``autograd.Function`` inside of blocks."""

    class Halved(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] / 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 5)

    @mx.operator.register("halved_in_a_block")
    class HalvedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Halved()

    seen = []
    for hybridized in (False, True):
        net = _function(mx, lambda F, x: F.Custom(x * 3, op_type="halved_in_a_block") + 1)
        if hybridized:
            net.hybridize()
        x = leaf(mx, [1.0, 2.0])
        y = recorded(mx, net, x)
        y.backward()
        seen += [y, x.grad]

    class Clipped(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return mx.nd.clip(dy, -0.5, 0.5)

    class Plain(mx.gluon.Block):
        def forward(self, x):
            return Clipped()(x) * 3

    x = leaf(mx, [1.0, 2.0])
    y = recorded(mx, Plain(), x)
    y.backward()
    return [*seen, y, x.grad]


@script
def numbers_in_hybrid_forward(mx):
    """Attributes that are numbers, lists, or arrays' contents, as a class keeps them."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self, factor, sizes):
            super().__init__()
            self._factor, self._sizes = factor, sizes

        def hybrid_forward(self, F, x):
            for size in self._sizes:
                x = F.concat(x, F.slice_axis(x, axis=0, begin=0, end=size) * self._factor, dim=0)
            return x

    x, seen = _x(mx), []
    for factor, sizes in ((2, [1]), (0.5, [1, 2]), (np.float32(0.25), (2,)), (np.int64(3), [])):
        net = Net(factor, sizes)
        plain = attempt(mx, lambda net=net: net(x))
        net.hybridize()
        seen.append([plain, attempt(mx, lambda net=net: net(x))])
    return seen
