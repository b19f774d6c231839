"""Networks by chance: names, graphs, files, values and gradients, plain, in parts, hybridized.

They compute in float64, and are compared in float32, since MXNet computes parts of some layers in
that. PReLU is left out: its gradient is another one when MXNet has hybridized it."""

from __future__ import annotations

import hashlib

import numpy as np

from ._facts import digest, fill, folder, leaf, numbers, parameters, recorded, script


class _Builder:
    """Networks of nested layers that a seed determines; pictures keep their size until the end."""

    def __init__(self, mx, seed):
        self.mx, self.nn = mx, mx.gluon.nn
        self.random = np.random.RandomState(seed)

        class Residual(mx.gluon.HybridBlock):
            def __init__(self, body, scaled, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.body = body()
                    self.scale = None
                    if scaled:
                        self.scale = self.params.get("scale", shape=(1,), init="ones")

            def hybrid_forward(self, F, x, scale=None):
                y = self.body(x)
                return x + (y if scale is None else F.broadcast_mul(y, scale.reshape((1, 1, 1, 1))))

        class Gate(mx.gluon.HybridBlock):
            def __init__(self, one, other, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.one = one()
                    self.other = other()

            def hybrid_forward(self, F, x):
                return F.tanh(self.one(x)) * F.sigmoid(self.other(x))

        self.Residual, self.Gate = Residual, Gate

    def pick(self, *values):
        return values[self.random.randint(len(values))]

    def convolution(self):
        size = self.pick(1, 3)
        return self.nn.Conv2D(
            4, size, padding=size // 2, groups=self.pick(1, 2, 4), use_bias=self.pick(True, False),
            activation=self.pick(None, "tanh", "softsign"),
        )  # fmt: skip

    def simple(self):
        nn = self.nn
        return self.pick(
            self.convolution,
            self.convolution,
            lambda: nn.BatchNorm(scale=self.pick(True, False), epsilon=1e-3),
            lambda: nn.Activation(self.pick("relu", "sigmoid", "softrelu")),
            lambda: self.pick(nn.ELU, nn.SELU, nn.Swish, nn.GELU)(),
            lambda: nn.LeakyReLU(0.3),
            lambda: nn.LayerNorm(axis=1),
            lambda: nn.GroupNorm(num_groups=2),
            lambda: self.pick(nn.MaxPool2D, nn.AvgPool2D)(3, 1, 1),
            lambda: nn.HybridLambda(self.pick("tanh", "negative")),
            lambda: nn.Dropout(0.0),
        )()

    def sequence(self, depth, **kwargs):
        net = self.nn.HybridSequential(**kwargs)
        with net.name_scope():
            for _ in range(self.random.randint(1, 4)):
                net.add(self.layer(depth))
        return net

    def layer(self, depth):
        def body():
            return self.layer(depth - 1)

        kind = self.pick("simple", "simple", "sequence", "residual", "gate") if depth else "simple"
        if kind == "sequence":
            return self.sequence(depth - 1, prefix=self.pick(None, "", "own_"))
        if kind == "residual":
            return self.Residual(body, self.pick(True, False))
        return self.Gate(body, body) if kind == "gate" else self.simple()

    def network(self):
        nn = self.nn
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Conv2D(4, 3, padding=1), self.sequence(2), self.layer(2))
            net.add(nn.GlobalAvgPool2D(), nn.Dense(3))
        return net


def _observed(mx, seed):
    """What a network says of itself, and its values and gradients in three modes."""
    seen, x = [], leaf(mx, numbers("pictures", (3, 2, 5, 5), "float64"), dtype="float64")
    for mode in ("hybridized", "parts", "plain"):
        with mx.name.NameManager():
            builder = _Builder(mx, seed)
            net = builder.network()
        net.initialize()
        net.cast("float64")
        if mode == "hybridized":
            net.hybridize()
        if mode == "parts":
            net[1].hybridize()
            net[2].hybridize()
        net(x)
        fill(net)
        before = net(x)
        y = recorded(mx, net, x)
        y.backward(mx.nd.array(numbers("head", (3, 3)), dtype="float64"))
        held = net.collect_params().values()
        totals = [p.data() if p.grad_req == "null" else p.grad() for p in held]
        totals = [total.asnumpy().sum() for total in totals]
        values = [before, y, x.grad[0, 0], mx.nd.array(totals)]
        seen.append([value.astype("float32") for value in values])
        if mode == "hybridized":
            with folder():
                fill(net)
                net.save_parameters("net")
                net.export("net")
                seen.append([parameters(net), digest("net"), digest("net-0000.params")])
                seen.append([digest("net-symbol.json"), _text(repr(net))])
    return seen


def _text(text):
    return [len(text), hashlib.sha256(text.encode()).hexdigest()[:16]]


@script
def random_networks(mx):
    return {f"seed {seed}": _observed(mx, seed) for seed in range(5)}
