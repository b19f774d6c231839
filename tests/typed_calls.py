"""Calls that the stubs accept or refuse: checked by pyright here, and run by ``test_stubs.py``."""
# An ignored error that does not occur any more is an error itself.
# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

import types

import executorkit as mx


def accepted() -> list[object]:
    """Calls with attributes, options of a node, and inputs of any number."""
    x = mx.sym.Variable("x")
    conv = mx.sym.Convolution(x, num_filter=8, kernel=(3, 3), name="conv", lr_mult=2.0)
    ones = mx.nd.ones((2, 3))
    return [
        mx.sym.Concat(conv, conv, dim=1, name="joined", attr={"__shape__": "(0, 2)"}),
        mx.sym.BatchNorm(conv, fix_gamma=False, ctx_group="stage1"),
        mx.sym.contrib.box_nms(x, overlap_thresh=0.3, topk=10),
        mx.nd.FullyConnected(ones, ones, no_bias=True, num_hidden=2),
        mx.nd.concat(ones, ones, dim=0),
    ]


def differentiated() -> list[mx.nd.NDArray]:
    """Recorded calls, their gradients, and a function with a gradient of its own."""

    class Doubled(mx.autograd.Function):
        def forward(self, x: mx.nd.NDArray) -> mx.nd.NDArray:
            return 2 * x

        def backward(self, head_grad: mx.nd.NDArray) -> mx.nd.NDArray:
            return 2 * head_grad

    x = mx.nd.ones((2, 3))
    x.attach_grad(grad_req="add")
    with mx.autograd.record(train_mode=False):
        y: mx.nd.NDArray = Doubled()(mx.nd.exp(x))
    y.backward(retain_graph=True)
    grads = mx.autograd.grad([y], [x], head_grads=mx.nd.ones((2, 3)))
    return grads if x.grad is None else [x.grad, x.detach(), *grads]


def layers() -> list[object]:
    """Layers with windows over one to three axes, a network of them, its parameters and trainer."""

    class Branch(mx.gluon.HybridBlock):
        def __init__(self, channels: int, prefix: str | None = None) -> None:
            super().__init__(prefix=prefix)
            with self.name_scope():
                self.body = mx.gluon.nn.Conv2D(
                    channels, kernel_size=(3, 3), padding=1, in_channels=2
                )

        def hybrid_forward(self, F: types.ModuleType, x: mx.nd.NDArray) -> mx.nd.NDArray:
            return F.relu(self.body(x))

    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(Branch(2), mx.gluon.nn.MaxPool2D(pool_size=2, ceil_mode=True))
        net.add(mx.gluon.nn.GlobalAvgPool2D(layout="NCHW"), mx.gluon.nn.Dense(3, activation="relu"))
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    net.hybridize(static_alloc=True)
    trainer = mx.gluon.Trainer(net.collect_params(".*weight"), "sgd", {"learning_rate": 0.1})
    with mx.autograd.record():
        loss = mx.gluon.loss.L2Loss()(net(mx.nd.ones((1, 2, 4, 4))), mx.nd.ones((1, 3)))
    loss.backward()
    trainer.step(batch_size=1, ignore_stale_grad=True)
    weight: mx.gluon.Parameter = net.collect_params()["net_dense0_weight"]
    return [weight.grad(), weight.data(mx.cpu()), trainer.learning_rate, net[0], loss]


def misspelt_argument_of_a_layer() -> object:
    """Conv2D has ``kernel_size``."""
    return mx.gluon.nn.Conv2D(8, kernel=(3, 3))  # pyright: ignore[reportCallIssue]


def misspelt_attribute() -> object:
    """An attribute that Convolution does not have."""
    x = mx.sym.Variable("x")
    return mx.sym.Convolution(x, num_filters=8, kernel=(3, 3))  # pyright: ignore[reportCallIssue]


def wrong_type() -> object:
    """A text that is no number."""
    x = mx.sym.Variable("x")
    return mx.sym.Convolution(x, num_filter="many", kernel=(3, 3))  # pyright: ignore[reportArgumentType]


def unknown_choice() -> object:
    """A value that is not among those of the attribute."""
    x = mx.sym.Variable("x")
    return mx.sym.Activation(x, act_type="rleu")  # pyright: ignore[reportArgumentType]


def misspelt_attribute_of_a_variadic_operator() -> object:
    """A further keyword would be an input."""
    x = mx.sym.Variable("x")
    return mx.sym.Concat(x, x, dims=1)  # pyright: ignore[reportArgumentType]


def misspelt_attribute_of_an_array_operator() -> object:
    """An attribute that FullyConnected does not have."""
    ones = mx.nd.ones((2, 3))
    return mx.nd.FullyConnected(ones, ones, num_hiden=2)  # pyright: ignore[reportCallIssue]


def request_that_is_no_text() -> object:
    """Requests of gradients are texts."""
    return mx.nd.ones((2, 3)).attach_grad(grad_req=True)  # pyright: ignore[reportArgumentType]


REFUSED = (
    misspelt_argument_of_a_layer, misspelt_attribute, wrong_type, unknown_choice,
    misspelt_attribute_of_a_variadic_operator, misspelt_attribute_of_an_array_operator,
    request_that_is_no_text,
)  # fmt: skip
