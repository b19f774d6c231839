"""Networks and training loops as users of Gluon write them."""

from __future__ import annotations

import numpy as np

from ._facts import fill, script


def _numbers(*shape, seed=0, scale=1.0):
    return (np.random.RandomState(seed).randn(*shape) * scale).astype("float32")


def _state(block):
    return [p.data() for p in block.collect_params().values()]


def _mlp(mx, outputs=3, **kwargs):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="mlp_")
    with net.name_scope():
        net.add(nn.Dense(5, activation="relu", in_units=4), nn.Dense(outputs, in_units=5))
    net.initialize()
    fill(net)
    return net


def _loops(mx, net, optimizer, options, steps=4, loss=None, ctx=None):
    """A training loop; the losses that it saw."""
    gluon, autograd = mx.gluon, mx.autograd
    loss = loss or gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), optimizer, options)
    seen = []
    for step in range(steps):
        data = mx.nd.array(_numbers(6, 4, seed=step))
        label = mx.nd.array(np.arange(6) % 3)
        with autograd.record():
            values = loss(net(data), label)
        values.backward()
        trainer.step(6)
        seen.append(values.mean())
    return seen


@script
def a_loop_plain_and_hybridized(mx):
    seen = {}
    static = {"static_alloc": True, "static_shape": True}
    for name, flags in (("plain", None), ("hybridized", {}), ("static", static)):
        net = _mlp(mx)
        if flags is not None:
            net.hybridize(**flags)
        losses = _loops(mx, net, "sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01})
        seen[name] = [losses, _state(net)]
    return seen


@script
def a_convolutional_network(mx):
    nn, autograd = mx.gluon.nn, mx.autograd
    seen = {}
    for hybridized in (False, True):
        net = nn.HybridSequential(prefix="cnn_")
        with net.name_scope():
            net.add(
                nn.Conv2D(3, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"),
                nn.MaxPool2D(), nn.Conv2D(2, 3, activation="tanh"), nn.GlobalAvgPool2D(),
                nn.Flatten(), nn.Dense(3),
            )  # fmt: skip
        net.initialize()
        net(mx.nd.zeros((2, 1, 8, 8)))
        fill(net)
        if hybridized:
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
        loss = mx.gluon.loss.SoftmaxCELoss()
        losses = []
        for step in range(3):
            data = mx.nd.array(_numbers(4, 1, 8, 8, seed=step))
            with autograd.record():
                value = loss(net(data), mx.nd.array([0, 1, 2, 0]))
            value.backward()
            trainer.step(4)
            losses.append(value)
        seen[str(hybridized)] = [
            losses,
            _state(net),
            net(mx.nd.array(_numbers(2, 1, 8, 8, seed=9))),
        ]
    return seen


@script
def adversaries(mx):
    """A generator and a discriminator, whose gradients end at ``detach``."""
    nn, autograd, gluon = mx.gluon.nn, mx.autograd, mx.gluon
    generator, critic = nn.Dense(4, in_units=2), nn.Dense(1, in_units=4)
    for net in (generator, critic):
        net.initialize()
        fill(net)
    loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainers = [
        gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        for net in (generator, critic)
    ]
    seen = []
    for step in range(3):
        real, noise = (
            mx.nd.array(_numbers(3, 4, seed=step)),
            mx.nd.array(_numbers(3, 2, seed=step + 7)),
        )
        with autograd.record():
            fake = generator(noise)
            error = loss(critic(real), mx.nd.ones((3,))) + loss(
                critic(fake.detach()), mx.nd.zeros((3,))
            )
        error.backward()
        trainers[1].step(3)
        with autograd.record():
            deceit = loss(critic(generator(noise)), mx.nd.ones((3,)))
        deceit.backward()
        trainers[0].step(3)
        seen.append([error, deceit])
    return [seen, _state(generator), _state(critic)]


@script
def two_branches_with_the_parameters_of_one(mx):
    """Two branches with the parameters of one, and the distance of what they see."""
    nn, autograd, gluon = mx.gluon.nn, mx.autograd, mx.gluon

    class Siamese(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.left = nn.Dense(3, in_units=4, activation="tanh")
                self.right = nn.Dense(3, in_units=4, activation="tanh", params=self.left.params)

        def hybrid_forward(self, F, x, y):
            return F.sum(F.square(self.left(x) - self.right(y)), axis=1)

    seen = {}
    for hybridized in (False, True):
        net = Siamese(prefix="siamese_")
        net.initialize()
        fill(net)
        if hybridized:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        losses = []
        for step in range(3):
            x, y = (mx.nd.array(_numbers(3, 4, seed=step + k)) for k in (0, 5))
            with autograd.record():
                value = net(x, y)
            value.backward()
            trainer.step(3)
            losses.append(value)
        seen[str(hybridized)] = [list(net.collect_params().keys()), losses, _state(net)]
    return seen


@script
def a_network_of_trees(mx):
    """Each example has a graph of its own."""
    nn, autograd, gluon = mx.gluon.nn, mx.autograd, mx.gluon

    class Tree(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.leaf, self.inner = nn.Dense(3, in_units=2), nn.Dense(3, in_units=6)
                self.out = nn.Dense(1, in_units=3)

        def node(self, tree, values):
            if isinstance(tree, int):
                return self.leaf(values[tree : tree + 1])
            parts = [self.node(part, values) for part in tree]
            return self.inner(mx.nd.concat(*parts, dim=1)).tanh()

        def forward(self, tree, values):
            return self.out(self.node(tree, values))

    net = Tree(prefix="tree_")
    net.initialize()
    fill(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    trees = [(0, 1), ((0, 1), 2), ((0, (1, 2)), 3), ((0, 1), (2, 3)), (0, (1, (2, 3)))]
    losses = []
    for step, tree in enumerate(trees * 3):
        values = mx.nd.array(_numbers(4, 2, seed=step))
        with autograd.record():
            value = (net(tree, values) - 1) ** 2
        value.backward()
        trainer.step(1)
        losses.append(value)
    return [losses, _state(net)]


@script
def a_new_head_on_an_old_network(mx):
    """A symbol becomes a block, whose parameters learn slowly below a new layer."""
    nn, gluon = mx.gluon.nn, mx.gluon
    data = mx.sym.Variable("data")
    body = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=5, name="fc"), act_type="tanh")
    features = gluon.SymbolBlock(body, data)
    features.collect_params().initialize()
    features(mx.nd.zeros((1, 4)))
    fill(features)
    net = nn.HybridSequential(prefix="new_")
    with net.name_scope():
        net.add(features, nn.Dense(3, in_units=5))
    net[1].initialize()
    fill(net[1])
    features.collect_params().setattr("lr_mult", 0.1)
    features.collect_params(".*bias").setattr("grad_req", "null")
    losses = _loops(mx, net, "sgd", {"learning_rate": 0.5})
    return [losses, _state(net), [p.name for p in net.collect_params().values()]]


@script
def a_loss_of_ones_own_and_gradients_clipped(mx):
    autograd, gluon = mx.autograd, mx.gluon

    class Focal(gluon.loss.Loss):
        def __init__(self, gamma=2, **kwargs):
            super().__init__(None, 0, **kwargs)
            self._gamma = gamma

        def hybrid_forward(self, F, pred, label):
            chosen = F.pick(F.softmax(pred), label, axis=-1)
            return -((1 - chosen) ** self._gamma) * F.log(chosen)

    net, loss = _mlp(mx), Focal()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    norms = []
    for step in range(3):
        with autograd.record():
            value = loss(net(mx.nd.array(_numbers(6, 4, seed=step))), mx.nd.array(np.arange(6) % 3))
        value.backward()
        grads = [p.grad() for p in net.collect_params().values()]
        norms.append(float(gluon.utils.clip_global_norm(grads, 0.3)))
        trainer.step(6)
    return [norms, _state(net), repr(loss)]


@script
def several_devices(mx):
    """A batch in two parts, one on each device."""
    autograd, gluon = mx.autograd, mx.gluon
    seen = {}
    for name, contexts in (("one", [mx.cpu(0)]), ("two", [mx.cpu(0), mx.cpu(1)])):
        net = _mlp(mx)
        net.collect_params().reset_ctx(contexts)
        trainer = gluon.Trainer(
            net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9}
        )
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        for step in range(3):
            data = gluon.utils.split_and_load(_numbers(6, 4, seed=step), contexts)
            label = gluon.utils.split_and_load(np.arange(6.0) % 3, contexts)
            with autograd.record():
                losses = [loss(net(x), y) for x, y in zip(data, label, strict=True)]
            for value in losses:
                value.backward()
            trainer.step(6)
        seen[name] = [
            p.data(contexts[-1]).as_in_context(mx.cpu(0)) for p in net.collect_params().values()
        ]
    return seen


@script
def a_forward_that_looks_at_values(mx):
    nn, autograd, gluon = mx.gluon.nn, mx.autograd, mx.gluon

    class Looking(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.first, self.second = nn.Dense(3, in_units=3), nn.Dense(3, in_units=3)

        def forward(self, x):
            while x.norm().asscalar() < 3:
                x = self.first(x) * 2
            return self.second(x)

    net = Looking(prefix="looking_")
    net.initialize()
    fill(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    seen = []
    for step in range(3):
        with autograd.record():
            value = (net(mx.nd.array(_numbers(2, 3, seed=step, scale=0.4))) ** 2).sum()
        value.backward()
        trainer.step(1)
        seen.append(value)
    return [seen, _state(net)]


@script
def micro_batches(mx):
    """Gradients of several parts are added up before the step."""
    autograd, gluon = mx.autograd, mx.gluon
    net, loss = _mlp(mx), gluon.loss.L2Loss()
    for parameter in net.collect_params().values():
        parameter.grad_req = "add"
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2})
    for step in range(2):
        for part in range(3):
            with autograd.record():
                value = loss(
                    net(mx.nd.array(_numbers(2, 4, seed=step * 3 + part))), mx.nd.ones((2, 3))
                )
            value.backward()
        trainer.step(6)
        for parameter in net.collect_params().values():
            parameter.zero_grad()
    return _state(net)


@script
def evaluation_between_steps(mx):
    nn, autograd, gluon = mx.gluon.nn, mx.autograd, mx.gluon
    net = nn.HybridSequential(prefix="evaluated_")
    with net.name_scope():
        net.add(nn.Dense(4, in_units=4), nn.BatchNorm(in_channels=4), nn.Dense(3, in_units=4))
    net.initialize()
    fill(net)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss, seen = gluon.loss.SoftmaxCrossEntropyLoss(), []
    metric = mx.metric.Accuracy()
    for step in range(3):
        data, label = mx.nd.array(_numbers(6, 4, seed=step)), mx.nd.array(np.arange(6) % 3)
        with autograd.record():
            value = loss(net(data), label)
        value.backward()
        trainer.step(6)
        outputs = net(data)
        metric.update([label], [outputs])
        seen.append([outputs, metric.get()[1]])
    return [seen, _state(net)]
