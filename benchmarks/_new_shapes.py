"""Work with shapes and graphs that a process meets for the first time, for either package.

Every function takes the package and a number of repetitions, and returns seconds per repetition,
each with its result read. Imports neither mxnet nor jax nor executorkit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

#: Seconds per repetition: ``work(mx, repetitions)``.
Work = Callable[[Any, int], float]


def _per_size(sizes: Iterator[int] | range, call: Callable[[int], Any]) -> float:
    """Seconds per size of a call that returns an NDArray, after one call with size 2."""
    call(2).asnumpy()
    count = len(list(sizes))
    start = time.perf_counter()
    for size in sizes:
        call(size).asnumpy()
    return (time.perf_counter() - start) / count


def add(mx: Any, repetitions: int) -> float:
    """``a + b`` of two vectors."""
    return _per_size(range(3, 3 + repetitions), lambda n: mx.nd.ones((n, 3)) + mx.nd.ones((n, 3)))


def dot(mx: Any, repetitions: int) -> float:
    """``mx.nd.dot`` of two matrices."""
    sizes = range(3, 3 + repetitions)
    return _per_size(sizes, lambda n: mx.nd.dot(mx.nd.ones((n, 8)), mx.nd.ones((8, n))))


def softmax(mx: Any, repetitions: int) -> float:
    """``mx.nd.softmax`` of a matrix."""
    return _per_size(range(3, 3 + repetitions), lambda n: mx.nd.softmax(mx.nd.ones((n, 10))))


def convolution(mx: Any, repetitions: int) -> float:
    """``mx.nd.Convolution`` of a picture with eight kernels of 3 x 3."""
    weight, bias = mx.nd.ones((8, 3, 3, 3)), mx.nd.zeros((8,))

    def call(n: int) -> Any:
        return mx.nd.Convolution(
            mx.nd.ones((1, 3, n + 6, n + 6)), weight, bias, kernel=(3, 3), num_filter=8, pad=(1, 1)
        )

    return _per_size(range(3, 3 + repetitions), call)


def perceptron(mx: Any, hidden: int = 32) -> Any:
    """A perceptron of 20 inputs and 5 classes."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.FullyConnected(x, num_hidden=5, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def bind_and_step(mx: Any, symbol: Any, batch: int) -> Any:
    """Binds, fills, runs forward and backward, and returns a gradient."""
    executor = symbol.simple_bind(mx.cpu(), data=(batch, 20))
    for array in executor.arg_arrays:
        array[:] = 0.1
    executor.forward(is_train=True)
    executor.backward()
    return executor.grad_dict["fc1_weight"]


def bind_perceptron(mx: Any, repetitions: int) -> float:
    """Bind and one training step of a perceptron, with a new number of rows."""
    symbol = perceptron(mx)
    return _per_size(range(3, 3 + repetitions), lambda n: bind_and_step(mx, symbol, n))


def small_convolution(mx: Any) -> Any:
    """An executor of a convolution with eight kernels of 3 x 3 on a picture of 16 x 16."""
    x = mx.sym.Variable("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=8, pad=(1, 1), name="conv")
    executor = mx.sym.Activation(x, act_type="relu").simple_bind(
        mx.cpu(), grad_req="null", data=(1, 3, 16, 16)
    )
    for array in executor.arg_arrays:
        array[:] = 0.1
    return executor


def reshape_to_new(mx: Any, repetitions: int) -> float:
    """``Executor.reshape`` to a new size of pictures, forward, read."""
    executor = small_convolution(mx)

    def call(n: int) -> Any:
        return executor.reshape(data=(1, 3, 16 + n, 16 + n), allow_up_sizing=True).forward()[0]

    return _per_size(range(3, 3 + repetitions), call)


def _training(mx: Any, net: Any, loss_of: Any, batch: Callable[[int], Any]) -> Callable[[int], Any]:
    """A step of a Gluon network on a batch of a size, which returns the loss."""
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})

    def call(n: int) -> Any:
        data, label = batch(n)
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(1)
        return loss

    return call


def train_perceptron(mx: Any, repetitions: int, hybrid: bool) -> float:
    """``record``, backward and ``Trainer.step`` of an MLP of two layers, with a new batch size."""
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Dense(64, activation="relu", in_units=20), mx.gluon.nn.Dense(10, in_units=64)
    )
    if hybrid:
        net.hybridize()
    call = _training(
        mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(),
        lambda n: (mx.nd.ones((n, 20)), mx.nd.zeros((n,))),
    )  # fmt: skip
    return _per_size(range(3, 3 + repetitions), call)


def train_language_model(mx: Any, repetitions: int) -> float:
    """The same of an LSTM language model, with a new sentence length."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn
    net = nn.Sequential()
    net.add(nn.Embedding(100, 32), rnn.LSTM(64, input_size=32), nn.Dense(100, flatten=False))
    call = _training(
        mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(),
        lambda n: (mx.nd.ones((n, 8)), mx.nd.zeros((n, 8))),
    )  # fmt: skip
    return _per_size(range(3, 3 + repetitions), call)


def infer_resnet(mx: Any, repetitions: int) -> float:
    """Inference of ResNet-18 with a new picture size."""
    net = mx.gluon.model_zoo.vision.resnet18_v1()
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 3, 64, 64))).asnumpy()
    sizes = range(3, 3 + repetitions)
    return _per_size(sizes, lambda n: net(mx.nd.ones((1, 3, 64 + 4 * n, 64 + 4 * n))))


def train_resnet(mx: Any, repetitions: int) -> float:
    """A step of ResNet-18 on four pictures of a new size."""
    net = mx.gluon.model_zoo.vision.resnet18_v1()
    net.hybridize()
    call = _training(
        mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(),
        lambda n: (mx.nd.ones((4, 3, 48 + 8 * n, 48 + 8 * n)), mx.nd.zeros((4,))),
    )  # fmt: skip
    return _per_size(range(3, 3 + repetitions), call)


#: Work by title.
NEW_WORKS: dict[str, Work] = {
    "new shape: a + b": add,
    "new shape: dot": dot,
    "new shape: softmax": softmax,
    "new shape: Convolution": convolution,
    "new rows: bind and train a perceptron": bind_perceptron,
    "new picture size: reshape, forward, read": reshape_to_new,
    "new batch: Gluon MLP, a step": partial(train_perceptron, hybrid=False),
    "new batch: Gluon MLP, hybridized, a step": partial(train_perceptron, hybrid=True),
    "new length: LSTM language model, a step": train_language_model,
    "new picture size: ResNet-18, inference": infer_resnet,
    "new picture size: ResNet-18, training": train_resnet,
}


def memory_works(mx: Any) -> list[Callable[[int], Any]]:
    """Calls with a size, of which thousands leave the memory of the process as it is: a training
    step, a bound and a reshaped executor, operators. Pictures are of ever-new sides, but small."""
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Dense(16, activation="relu", in_units=20), mx.gluon.nn.Dense(10, in_units=16)
    )
    train = _training(
        mx, net, mx.gluon.loss.SoftmaxCrossEntropyLoss(),
        lambda n: (mx.nd.ones((n, 20)), mx.nd.zeros((n,))),
    )  # fmt: skip
    symbol, executor = perceptron(mx), small_convolution(mx)

    def reshape(n: int) -> Any:
        shape = (1, 3, 16 + n // 72, 16 + n % 72)
        return executor.reshape(data=shape, allow_up_sizing=True).forward()[0]

    return [
        train,
        partial(bind_and_step, mx, symbol),
        reshape,
        lambda n: mx.nd.softmax(mx.nd.ones((n, 10)) + mx.nd.ones((n, 10))),
        lambda n: mx.nd.dot(mx.nd.ones((n, 8)), mx.nd.ones((8, 4))),
    ]
