"""``demo``: trains, measures, saves, loads and shows a network for real handwritten digits.

It is meant to be read: an MXNet 1.x script with a symbol and an executor, with optax as the
optimiser, beside the same training step written by hand in JAX.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax

from .. import symbol as sym
from ..context import cpu
from ..data import Digits, load_digits
from ..executor import Executor
from ..model import load_checkpoint, save_checkpoint
from ._handwritten import OPTIMIZER, HandwrittenStep
from ._timing import PairedTimes, time_in_pairs

BATCH = 64
EPOCHS = 10
PAIRS = 60
#: Characters for grey values from paper to ink.
INK = " .:-=+*#%@"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command with its arguments."""
    parser = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits",
        description="Trains a small convolutional network on 1,437 handwritten digits, tests it "
        "on 360 others, compares its training step with hand-written JAX, and saves and loads a "
        "checkpoint.",
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="where to save; without it, nothing is kept"
    )
    parser.add_argument(
        "--epochs", type=_positive, default=EPOCHS, help=f"default {EPOCHS}", metavar="N"
    )
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return number


def run(options: argparse.Namespace) -> int:
    """Runs the demonstration."""
    digits = load_digits()
    executor = bind_network(network())
    train(executor, digits, options.epochs)
    accuracy = (predict(executor, digits.test_images).argmax(1) == digits.test_labels).mean()
    print(f"accuracy on {len(digits.test_labels)} digits never seen: {accuracy:.1%}")

    times = compare(executor, digits)
    print(
        f"training step of {BATCH} digits: {times.ours * 1e3:.2f} ms, hand-written jax.jit: "
        f"{times.theirs * 1e3:.2f} ms, by hand / executorkit {times.ratio:.2f}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        prefix = (options.output or Path(temporary)) / "digits"
        prefix.parent.mkdir(parents=True, exist_ok=True)
        loaded = save_and_load(executor, prefix, options.epochs)
        where = f"in {options.output}" if options.output else "(--output DIR keeps it)"
        print(f"saved a checkpoint and loaded it back {where}")
    print()
    print(gallery(digits.test_images[:6], predict(loaded, digits.test_images[:6]).argmax(1)))
    return 0


def network() -> sym.Symbol:
    """Two convolutions with max pooling, one fully connected layer, softmax."""
    x = sym.Variable("data")
    for i, filters in enumerate((16, 32), start=1):
        x = sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        x = sym.Activation(x, act_type="relu", name=f"relu{i}")
        x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
    x = sym.FullyConnected(x, num_hidden=10, name="fc")
    return sym.SoftmaxOutput(x, normalization="batch", name="softmax")


def bind_network(symbol: sym.Symbol) -> Executor:
    """An executor with gradients for the parameters, which start as He et al. (2015) advise."""
    inputs = {"data": (BATCH, 1, 8, 8), "softmax_label": (BATCH,)}
    requests = {n: "null" if n in inputs else "write" for n in symbol.list_arguments()}
    executor = symbol.simple_bind(cpu(), grad_req=requests, **inputs)
    random = np.random.RandomState(0)
    for name, array in executor.arg_dict.items():
        if name.endswith("weight"):
            array[:] = random.normal(0, np.sqrt(2 / np.prod(array.shape[1:])), array.shape)
    return executor


def train(executor: Executor, digits: Digits, epochs: int) -> None:
    """Trains with Adam on batches in random order; prints a line per epoch."""
    step = ExecutorStep(executor)
    random = np.random.RandomState(1)
    for epoch in range(1, epochs + 1):
        correct = total = 0
        order = random.permutation(len(digits.train_labels))
        batches = [order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]
        for batch in progress(batches, f"epoch {epoch}/{epochs}"):
            step(digits.train_images[batch], digits.train_labels[batch])
            correct += (executor.outputs[0].asnumpy().argmax(1) == digits.train_labels[batch]).sum()
            total += BATCH
        print(f"epoch {epoch}/{epochs}: {correct / total:.1%} of the training digits right")


class ExecutorStep:
    """A training step of an executor: forward, backward, and an optax update of its parameters."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.names = [n for n, gradient in executor.grad_dict.items() if gradient is not None]
        self.state = OPTIMIZER.init(self.parameters())

    def parameters(self) -> dict[str, jax.Array]:
        """The parameters as a dictionary for optax."""
        return {name: self.executor.arg_dict[name].jax for name in self.names}

    def __call__(self, images: np.ndarray, labels: np.ndarray) -> dict[str, jax.Array]:
        executor = self.executor
        executor.forward(is_train=True, data=images, softmax_label=labels)
        executor.backward()
        gradients = {n: g.jax for n, g in executor.grad_dict.items() if g is not None}
        parameters, self.state = _update(self.parameters(), gradients, self.state)
        for name, value in parameters.items():
            executor.arg_dict[name][:] = value
        return parameters


@jax.jit
def _update(parameters: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
    updates, state = OPTIMIZER.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state


def progress(batches: Sequence[Any], label: str) -> Iterator[Any]:
    """The batches, with a progress bar if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return iter(batches)
    return iter(tqdm(batches, desc=label, leave=False))


def predict(executor: Executor, images: np.ndarray) -> np.ndarray:
    """Probabilities (n, 10), from the executor reshaped to n images with the same parameters."""
    other = executor.reshape(
        allow_up_sizing=True, data=images.shape, softmax_label=images.shape[:1]
    )
    (probabilities,) = other.forward(is_train=False, data=images)
    return probabilities.asnumpy()


def compare(executor: Executor, digits: Digits) -> PairedTimes:
    """The executor's training step against the hand-written one, from the same parameters; both
    compiled, where the first steps of an executor would be interpreted."""
    images, labels = digits.train_images[:BATCH], digits.train_labels[:BATCH]
    executor_step = ExecutorStep(bind_network(network()).compile(is_train=True))
    executor_step.executor.copy_params_from(
        {name: executor.arg_dict[name] for name in executor_step.names}
    )
    handwritten = HandwrittenStep(executor_step.parameters())
    for _ in range(3):
        a, b = executor_step(images, labels), handwritten(images, labels)
    for name in a:
        # All elements together: rounding, which differs between processors, may flip the sign of a
        # ReLU's input, and so change one element more than the others.
        difference = np.linalg.norm(a[name] - b[name])
        np.testing.assert_array_less(difference, 1e-3 * np.linalg.norm(b[name]), err_msg=name)
    return time_in_pairs(
        lambda: executor_step(images, labels), lambda: handwritten(images, labels), PAIRS
    )


def save_and_load(executor: Executor, prefix: Path, epoch: int) -> Executor:
    """Saves a checkpoint of the network, loads it, and binds it for one image."""
    trained = {n: executor.arg_dict[n] for n, g in executor.grad_dict.items() if g is not None}
    save_checkpoint(prefix, epoch, executor.symbol, trained, executor.aux_dict)
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    loaded = symbol.simple_bind(cpu(), grad_req="null", data=(1, 1, 8, 8))
    loaded.copy_params_from(arg_params, aux_params)
    return loaded


def gallery(images: np.ndarray, predictions: Sequence[int]) -> str:
    """Digits side by side in characters, each with the network's prediction."""
    shades = np.array(list(INK))[(images[:, 0] * (len(INK) - 1)).round().astype(int)]
    rows = ["   ".join("".join(c * 2 for c in image[y]) for image in shades) for y in range(8)]
    captions = "   ".join(f"this is a {prediction}".center(16) for prediction in predictions)
    return "\n".join([*(row.rstrip() for row in rows), captions.rstrip()])
