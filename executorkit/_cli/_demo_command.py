"""``demo``: trains, saves, loads and shows a network for real handwritten digits, as an MXNet 1.x
script with a symbol and a module."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import random, symbol as sym
from ..context import cpu
from ..data import load_digits
from ..executor import Executor
from ..initializer import Xavier
from ..io import NDArrayIter
from ..metric import Accuracy
from ..model import load_checkpoint
from ..module import Module

BATCH = 64
EPOCHS = 10
#: Characters for grey values from paper to ink.
INK = " .:-=+*#%@"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits",
        description="Trains a small convolutional network on 1,437 handwritten digits, tests it "
        "on 360 others, and saves and loads a checkpoint.",
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
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return number


def run(options: argparse.Namespace) -> int:
    digits, epochs = load_digits(), options.epochs
    random.seed(0)
    np.random.seed(0)
    batches = NDArrayIter(digits.train_images, digits.train_labels, BATCH, shuffle=True)
    module, metric = Module(network()), Accuracy()

    def report(epoch: int, *_: object) -> None:
        right = metric.get()[1]
        print(f"epoch {epoch + 1}/{epochs}: {right:.1%} of the training digits right")

    module.fit(
        batches, eval_metric=metric, epoch_end_callback=report, num_epoch=epochs,
        initializer=Xavier("gaussian", "in", 2),
        optimizer="adam", optimizer_params={"learning_rate": 0.01},
    )  # fmt: skip
    unseen = NDArrayIter(digits.test_images, digits.test_labels, BATCH)
    accuracy = module.score(unseen, "acc")[0][1]
    print(f"accuracy on {len(digits.test_labels)} digits never seen: {accuracy:.1%}")
    with tempfile.TemporaryDirectory() as temporary:
        prefix = (options.output or Path(temporary)) / "digits"
        prefix.parent.mkdir(parents=True, exist_ok=True)
        module.save_checkpoint(str(prefix), epochs)
        loaded = load(prefix, epochs, digits.test_images[:6].shape)
    where = f"in {options.output}" if options.output else "(--output DIR keeps it)"
    print(f"saved a checkpoint and loaded it back {where}\n")
    (probabilities,) = loaded.forward(is_train=False, data=digits.test_images[:6])
    print(gallery(digits.test_images[:6], probabilities.asnumpy().argmax(1)))
    return 0


def network() -> sym.Symbol:
    x = sym.Variable("data")
    for i, filters in enumerate((16, 32), start=1):
        x = sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        x = sym.Activation(x, act_type="relu", name=f"relu{i}")
        x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=10, name="fc"), name="softmax")


def load(prefix: Path, epoch: int, shape: tuple[int, ...]) -> Executor:
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    executor = symbol.simple_bind(cpu(), grad_req="null", data=shape)
    executor.copy_params_from(arg_params, aux_params)
    return executor


def gallery(images: np.ndarray, predictions: Sequence[int]) -> str:
    shades = np.array(list(INK))[(images[:, 0] * (len(INK) - 1)).round().astype(int)]
    rows = ["   ".join("".join(c * 2 for c in image[y]) for image in shades) for y in range(8)]
    captions = "   ".join(f"this is a {prediction}".center(16) for prediction in predictions)
    return "\n".join([*(row.rstrip() for row in rows), captions.rstrip()])
