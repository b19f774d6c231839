"""Loops over recorded calls, for either package, and a worker that runs one of them.

python -m benchmarks._recorded_loops PACKAGE LOOP FORM

PACKAGE is mxnet, executorkit, or the folder of another version of executorkit. FORM is ``plain``,
or, for networks of Gluon, ``gluon``, ``hybridized`` or ``static``. The first line has the seconds
of the first, 10th and 30th iteration, and the sum of what the first one computed; then each line of
stdin is a number of iterations, answered by the seconds of one, or ``settle``. Imports neither
mxnet nor jax nor executorkit.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: Iterations after which nothing but compilations in the background is waited for.
SETTLED = 120
#: The same of loops whose iterations take a large part of a second, and are compiled at once.
_SETTLED_LARGE = 12
#: Length of a pause in seconds, and the processor time that a process uses in it if nothing runs.
_PAUSE, _IDLE = 0.25, 0.02

#: An iteration: it returns an array that depends on everything that it computes, or None.
Iteration = Callable[[], Any]


class Loop(NamedTuple):
    """A loop of one line of the table.

    make
        ``make(mx)`` returns an iteration; None for those that are written in Gluon alone.
    calls
        calls of operators of an iteration that a time is divided by.
    gluon
        ``gluon(mx, form)``, the same network in Gluon.
    settled
        number of iterations before steady times are taken.
    """

    make: Callable[[Any], Iteration] | None
    calls: int = 1
    gluon: Callable[[Any, str], Iteration] | None = None
    settled: int = SETTLED

    def iteration(self, mx: Any, form: str) -> Iteration:
        """An iteration of a form."""
        if form == "plain" and self.make is not None:
            return self.make(mx)
        assert self.gluon is not None
        return self.gluon(mx, "gluon" if form == "plain" else form)


def _trained(mx: Any, params: Sequence[Any], rows: int) -> Callable[[], None]:
    """SGD with momentum, by an updater of ``mx.optimizer``."""
    rule = mx.optimizer.SGD(learning_rate=0.01, momentum=0.9, rescale_grad=1.0 / rows)
    updater = mx.optimizer.get_updater(rule)
    indices = list(range(len(params)))
    return lambda: updater(indices, [p.grad for p in params], params)


def weights(shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Weights of normal numbers, and biases of zeros."""
    random = np.random.RandomState(0)
    return [0.05 * random.randn(*s) if len(s) > 1 else np.zeros(s) for s in shapes]


def batch(mx: Any, shape: tuple[int, ...], classes: int) -> tuple[Any, Any]:
    random = np.random.RandomState(1)
    return mx.nd.array(random.randn(*shape)), mx.nd.array(random.randint(0, classes, shape[0]))


def _variables(mx: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    arrays = [mx.nd.array(w) for w in weights(shapes)]
    for array in arrays:
        array.attach_grad()
    return arrays


def dense_shapes(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return [s for a, b in itertools.pairwise(sizes) for s in ((b, a), (b,))]


def _dense_network(sizes: Sequence[int], rows: int) -> Callable[[Any], Iteration]:
    """A step of dense layers with ReLU between them, written with ``mx.nd``."""

    def make(mx: Any) -> Iteration:
        nd = mx.nd
        params = _variables(mx, dense_shapes(sizes))
        x, y = batch(mx, (rows, sizes[0]), sizes[-1])
        update = _trained(mx, params, rows)

        def step() -> Any:
            with mx.autograd.record():
                h = x
                for k in range(0, len(params), 2):
                    if k:
                        h = nd.Activation(h, act_type="relu")
                    h = nd.FullyConnected(h, params[k], params[k + 1], num_hidden=sizes[k // 2 + 1])
                loss = -nd.pick(nd.log_softmax(h, axis=-1), y, axis=-1)
            loss.backward()
            update()
            return loss

        return step

    return make


def _gluon_step(
    mx: Any, form: str, layers: Sequence[Any], params: Any, x: Any, y: Any
) -> Iteration:
    """A step of a network of Gluon, whose parameters are given their values."""
    net = mx.gluon.nn.HybridSequential()
    net.add(*layers)
    net.initialize()
    for parameter, value in zip(net.collect_params().values(), params):  # noqa: B905
        parameter.set_data(mx.nd.array(value))
    return trained_network(mx, form, net, x, y)


def trained_network(mx: Any, form: str, net: Any, x: Any, y: Any) -> Iteration:
    """A step of a network of Gluon with its loss and a trainer."""
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for block in (net, loss_of):
        _hybridize(block, form)
    rule = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", rule)

    def step() -> Any:
        with mx.autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(x.shape[0])
        return loss

    return step


def _hybridize(block: Any, form: str) -> None:
    static = form == "static"
    if form != "gluon":
        block.hybridize(static_alloc=static, static_shape=static)


def _gluon_dense(sizes: Sequence[int], rows: int) -> Callable[[Any, str], Iteration]:
    def make(mx: Any, form: str) -> Iteration:
        pairs = list(itertools.pairwise(sizes))
        layers = [
            mx.gluon.nn.Dense(b, in_units=a, activation="relu" if k < len(pairs) - 1 else None)
            for k, (a, b) in enumerate(pairs)
        ]
        values = weights(dense_shapes(sizes))
        return _gluon_step(mx, form, layers, values, *batch(mx, (rows, sizes[0]), sizes[-1]))

    return make


_LENET = [(20, 1, 5, 5), (20,), (50, 20, 5, 5), (50,), (500, 800), (500,), (10, 500), (10,)]


def _lenet(mx: Any) -> Iteration:
    """A step of LeNet on 64 pictures, written with ``mx.nd``."""
    nd = mx.nd
    w1, b1, w2, b2, w3, b3, w4, b4 = params = _variables(mx, _LENET)
    x, y = batch(mx, (64, 1, 28, 28), 10)
    update = _trained(mx, params, 64)

    def block(h: Any, weight: Any, bias: Any) -> Any:
        h = nd.Convolution(h, weight, bias, kernel=(5, 5), num_filter=weight.shape[0])
        h = nd.Activation(h, act_type="tanh")
        return nd.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="max")

    def step() -> Any:
        with mx.autograd.record():
            h = block(block(x, w1, b1), w2, b2)
            h = nd.Activation(nd.FullyConnected(h, w3, b3, num_hidden=500), act_type="tanh")
            h = nd.FullyConnected(h, w4, b4, num_hidden=10)
            loss = -nd.pick(nd.log_softmax(h), y)
        loss.backward()
        update()
        return loss

    return step


def _gluon_lenet(mx: Any, form: str) -> Iteration:
    nn = mx.gluon.nn
    layers = [
        nn.Conv2D(20, 5, in_channels=1, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, in_channels=20, activation="tanh"), nn.MaxPool2D(2, 2),
        nn.Dense(500, in_units=800, activation="tanh"), nn.Dense(10, in_units=500),
    ]  # fmt: skip
    return _gluon_step(mx, form, layers, weights(_LENET), *batch(mx, (64, 1, 28, 28), 10))


def _adversaries(mx: Any, form: str) -> Iteration:
    """A step of a generator and a discriminator of dense layers, 64 rows: each by Adam, with the
    accuracy of the discriminator and the means of both losses for the log, as such loops are
    written."""
    nd, nn, autograd = mx.nd, mx.gluon.nn, mx.autograd
    random = np.random.RandomState(0)

    def network(*layers: Any) -> Any:
        net = nn.HybridSequential()
        net.add(*layers)
        net.initialize()
        for parameter in net.collect_params().values():
            if parameter.name.endswith("weight"):
                parameter.set_data(nd.array(0.05 * random.randn(*parameter.shape)))
        _hybridize(net, form)
        return net, mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 2e-4})

    generator, generator_trainer = network(
        nn.Dense(128, in_units=100, use_bias=False),
        nn.BatchNorm(in_channels=128),
        nn.Activation("relu"),
        nn.Dense(784, in_units=128, activation="tanh"),
    )
    critic, critic_trainer = network(
        nn.Dense(128, in_units=784, activation="relu"), nn.Dense(2, in_units=128)
    )
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    pictures, noise = nd.array(random.randn(64, 784)), nd.array(random.randn(64, 100))
    real, made = nd.ones((64,)), nd.zeros((64,))
    metric = mx.metric.Accuracy()

    def step() -> Any:
        with autograd.record():
            scores = critic(pictures)
            loss_of_real = loss_of(scores, real)
        metric.update([real], [scores])
        with autograd.record():
            fake = generator(noise)
            scores = critic(fake.detach())
            loss = loss_of_real + loss_of(scores, made)
        loss.backward()
        metric.update([made], [scores])
        critic_trainer.step(64)
        with autograd.record():
            loss_of_fake = loss_of(critic(fake), real)
        loss_of_fake.backward()
        generator_trainer.step(64)
        metric.get()
        log = nd.mean(loss).asscalar(), nd.mean(loss_of_fake).asscalar()
        return np.array(log)

    return step


def _language_model(has_cells: bool) -> Callable[[Any, str], Iteration]:
    """A step of truncated backpropagation of a language model of 1,000 words: two LSTM layers of
    650 units, 35 steps, 32 rows, as one layer or as cells that are unrolled."""
    words, units, steps, rows = 1000, 650, 35, 32

    def make(mx: Any, form: str) -> Iteration:
        nn, rnn = mx.gluon.nn, mx.gluon.rnn

        class Model(mx.gluon.HybridBlock):
            def __init__(self) -> None:
                super().__init__()
                with self.name_scope():
                    self.words = nn.Embedding(words, units)
                    self.rnn = rnn.LSTM(units, 2, input_size=units)
                    self.out = nn.Dense(words, flatten=False, in_units=units)
                    self.cells = self.rnn._unfuse() if has_cells else None

            def hybrid_forward(self, F: Any, x: Any, states: Any) -> Any:  # noqa: N803
                x = self.words(x)
                if self.cells is None:
                    x, states = self.rnn(x, states)
                else:
                    x, states = self.cells.unroll(steps, x, states, "TNC", merge_outputs=True)
                return self.out(x), states

        net, loss_of = Model(), mx.gluon.loss.SoftmaxCrossEntropyLoss()
        net.initialize()
        random = np.random.RandomState(0)
        for parameter in net.collect_params().values():
            parameter.set_data(mx.nd.array(0.05 * random.randn(*parameter.shape)))
        for block in (net, loss_of):
            _hybridize(block, form)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
        x, y = (mx.nd.array(random.randint(0, words, (steps, rows))) for _ in range(2))
        states = (net.rnn if net.cells is None else net.cells).begin_state(batch_size=rows)

        def step() -> Any:
            nonlocal states
            states = [state.detach() for state in states]
            with mx.autograd.record():
                outputs, states = net(x, states)
                loss = loss_of(outputs, y)
            loss.backward()
            trainer.step(steps * rows)
            return loss

        return step

    return make


def _resnet(mx: Any, rows: int) -> tuple[Any, Any, Any]:
    """ResNet-50 of the model zoo with the same parameters on both sides, and a batch."""
    net = mx.gluon.model_zoo.vision.resnet50_v1()
    x, y = batch(mx, (rows, 3, 224, 224), 1000)
    net.infer_shape(x)
    net.initialize()
    random = np.random.RandomState(0)
    for parameter in net.collect_params().values():
        if len(parameter.shape) > 1:
            scale = np.sqrt(2 / np.prod(parameter.shape[1:]))
            parameter.set_data(mx.nd.array(scale * random.standard_normal(parameter.shape)))
    return net, x, y


def _trained_resnet(mx: Any, form: str) -> Iteration:
    return trained_network(mx, form, *_resnet(mx, 4))


def _inferred_resnet(mx: Any, form: str) -> Iteration:
    net, x, _ = _resnet(mx, 1)
    _hybridize(net, form)
    return lambda: net(x)


def _bound_resnet(mx: Any) -> Iteration:
    """Inference by an executor of the network's symbol."""
    net, x, _ = _resnet(mx, 1)
    graph = net(mx.sym.Variable("data"))
    executor = graph.simple_bind(mx.cpu(), grad_req="null", data=x.shape)
    parameters = {n: p.data() for n, p in net.collect_params().items()}
    executor.copy_params_from(parameters, parameters, allow_extra_params=True)
    return lambda: executor.forward(is_train=False, data=x)[0]


def _product(
    calls: int, backward: bool, read: bool, recorded: bool = True
) -> Callable[[Any], Iteration]:
    """Products of three numbers, one after the other, that are differentiated, and read, or not."""

    def make(mx: Any) -> Iteration:
        x = mx.nd.array([1.0, 0.5, -1.0])
        if recorded:
            x.attach_grad()

        def iteration() -> Any:
            with mx.autograd.record():
                y = x
                for _ in range(calls):
                    y = y * x
            if backward:
                y.backward()
            return x.grad.asnumpy() if read else None

        def eager() -> Any:
            y = x
            for _ in range(calls):
                y = y * x
            return y

        return iteration if recorded else eager

    return make


def _trees(calls: int = 44, distinct: int | None = None) -> Callable[[Any], Iteration]:
    """A graph of as many calls in the shape of a tree, forward, backward and the loss read; new at
    each iteration, or one of ``distinct``."""

    def make(mx: Any) -> Iteration:
        nd = mx.nd
        leaves = _variables(mx, [(1, 16)] * 8)
        weights = _variables(mx, [(16, 16)] * 2)
        number = [0]
        products = [lambda a, w=w: nd.dot(a, w) for w in weights]
        unary = (nd.tanh, nd.sigmoid, *products)
        binary = (lambda a, b: a + b, lambda a, b: a * b, nd.maximum)

        def iteration() -> Any:
            random = np.random.RandomState(number[0] % (distinct or 2**31))
            number[0] += 1
            with mx.autograd.record():
                nodes = [leaves[i] for i in random.randint(0, 8, calls // 3)]
                for _ in range(calls - 1 - (len(nodes) - 1)):
                    i = random.randint(len(nodes))
                    nodes[i] = unary[random.randint(4)](nodes[i])
                while len(nodes) > 1:
                    a, b = nodes.pop(random.randint(len(nodes))), nodes.pop()
                    nodes.append(binary[random.randint(3)](a, b))
                loss = nodes[0].sum()
            loss.backward()
            return loss.asnumpy()

        return iteration

    return make


def _eager(call: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> Callable[[Any], Iteration]:
    """An operator while nothing records."""

    def make(mx: Any) -> Iteration:
        array = mx.nd.array(np.random.RandomState(0).rand(*shape))
        return lambda: call(mx.nd, array)

    return make


#: Sizes of networks of dense layers, and the rows of a batch.
DENSE = {
    "MLP 784-128-64-10, 64 rows, SGD with momentum": ((784, 128, 64, 10), 64),
    "20 x Dense(32), 16 rows": ((32,) * 21, 16),
}
#: Loops by title.
LOOPS: dict[str, Loop] = {
    **{
        title: Loop(_dense_network(*sizes), gluon=_gluon_dense(*sizes))
        for title, sizes in DENSE.items()
    },
    "LeNet, 64 pictures": Loop(_lenet, gluon=_gluon_lenet),
    "generator 100-128-784 against 784-128-2, 64 rows, Adam": Loop(
        lambda mx: _adversaries(mx, "gluon"), gluon=_adversaries
    ),
    **{
        f"LSTM of 2 x 650 units, 35 steps, 32 rows, {name}": Loop(
            None, gluon=_language_model(has_cells), settled=_SETTLED_LARGE
        )
        for name, has_cells in (("a layer", False), ("unrolled cells", True))
    },
    "ResNet-50, 4 pictures": Loop(None, gluon=_trained_resnet, settled=6),
    "ResNet-50, inference of a picture; plain: an executor": Loop(
        _bound_resnet, gluon=_inferred_resnet, settled=20
    ),
    "five calls, backward, gradient read": Loop(_product(5, backward=True, read=True)),
    "one call, backward, gradient read": Loop(_product(1, backward=True, read=True)),
    "a recorded call, of 50": Loop(_product(50, backward=False, read=False), calls=50),
    "a recorded call with its backward, of 50": Loop(
        _product(50, backward=True, read=False), calls=50
    ),
    "44 calls, a new graph each time": Loop(_trees()),
    "44 calls, one of 4 graphs": Loop(_trees(distinct=4)),
    "eager: product of 3 numbers": Loop(_product(50, False, False, recorded=False), calls=50),
    "eager: relu of 256 x 256": Loop(_eager(lambda nd, a: nd.relu(a), (256, 256))),
    "eager: sum of 64 x 64": Loop(_eager(lambda nd, a: nd.sum(a), (64, 64))),
    "eager: dot of 64 x 64": Loop(_eager(lambda nd, a: nd.dot(a, a), (64, 64))),
}


def package(name: str) -> Any:
    """mxnet, executorkit, or the executorkit of a folder."""
    if Path(name).is_absolute():
        sys.path.insert(0, name)
        mx: Any = importlib.import_module("executorkit")
        if not Path(mx.__file__).is_relative_to(name):
            raise RuntimeError(f"imported {mx.__file__}, not the one in {name}")
        return mx
    return importlib.import_module(name)


def _settle(wait: Callable[[], Any], iteration: Iteration, settled: int) -> float:
    """Iterates until a pause uses no processor time: nothing is compiled in the background. Returns
    the seconds that took."""
    start = time.perf_counter()
    for count in (settled, settled // 4):
        for _ in range(count):
            iteration()
        wait()
        while True:
            used = time.process_time()
            time.sleep(_PAUSE)
            if time.process_time() - used < _IDLE:
                break
    return time.perf_counter() - start


def main(name: str, title: str, form: str) -> None:
    warnings.simplefilter("ignore")
    mx = package(name)
    mx.nd.ones(1).copy().asnumpy()  # starts the library
    loop = LOOPS[title]
    iteration = loop.iteration(mx, form)
    mx.nd.waitall()
    serve(iteration, mx.nd.waitall, loop.settled)


def serve(iteration: Iteration, wait: Callable[[], Any], settled: int = SETTLED) -> None:
    """Prints the first times, and answers the lines of stdin.

    ``wait`` returns once all that iterations have started is computed."""

    def seconds(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            iteration()
        wait()
        return (time.perf_counter() - start) / count

    curve: dict[int, float] = {}
    result = 0.0
    for k in range(1, 31):
        start = time.perf_counter()
        array = iteration()
        wait()
        curve[k] = time.perf_counter() - start
        if k == 1 and array is not None:
            result = float(np.sum(array.asnumpy() if hasattr(array, "asnumpy") else array))
    first = {"first": curve[1], "10th": curve[10], "30th": curve[30], "result": result}
    print(json.dumps(first), flush=True)
    for line in sys.stdin:
        settles = line.strip() == "settle"
        print(_settle(wait, iteration, settled) if settles else seconds(int(line)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
