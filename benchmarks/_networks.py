"""The measured networks, for MXNet and executorkit alike.

Imports neither mxnet nor jax nor executorkit: workers have Pythons of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tests.models import parameter
from tests.models.densenet import densenet121
from tests.models.inception import inception_v3
from tests.models.lstm import lstm
from tests.models.mobilenet import mobilenet, mobilenet_v2
from tests.models.resnet import resnet50
from tests.models.resnet_v1 import iresnet18, resnet18
from tests.models.simple import lenet, mlp
from tests.models.squeezenet import squeezenet
from tests.models.ssd import ssd_detect, ssd_train
from tests.models.super_resolution import super_resolution
from tests.models.text_line import text_line
from tests.models.vgg import vgg16

Shape = tuple[int, ...]
Build = Callable[[Any], Any]
IMAGES: dict[str, Build] = {
    "mlp": mlp, "lenet": lenet, "resnet50": resnet50, "inception_v3": inception_v3, "vgg16": vgg16,
    "mobilenet": mobilenet, "mobilenet_v2": mobilenet_v2, "resnet18": resnet18,
    "squeezenet": squeezenet, "densenet121": densenet121,
    "resnet152": partial(resnet50, units=(3, 8, 36, 3)),
}  # fmt: skip


@dataclass(frozen=True)
class Network:
    """A network: the function that builds its symbol, and the shapes of its inputs.

    words
        for inputs of whole numbers (words or classes) the number of different ones.
    trained
        False for a network without a training step.
    """

    build: Callable[[Any], Any]
    shapes: Mapping[str, Shape]
    words: Mapping[str, int]
    trained: bool = True

    def bind(self, mx: Any, symbol: Any) -> Any:
        """An executor with gradients of the parameters, on the current context."""
        requests = {n: "null" if n in self.shapes else "write" for n in symbol.list_arguments()}
        return symbol.simple_bind(mx.current_context(), grad_req=requests, **self.shapes)

    def values(self, executor: Any) -> list[tuple[Any, np.ndarray]]:
        """The arguments and states with their contents: (NDArray, contents)."""
        named = [*executor.arg_dict.items(), *executor.aux_dict.items()]
        return [(array, self.value(name, array.shape)) for name, array in named]

    def filled(self, mx: Any, symbol: Any) -> Any:
        """:meth:`bind`, with contents."""
        executor = self.bind(mx, symbol)
        fill(self.values(executor))
        return executor

    def value(self, name: str, shape: Shape) -> np.ndarray:
        """The contents of an input or parameter, seeded by its name."""
        if name in self.words:
            random = np.random.RandomState(0)
            return random.randint(0, self.words[name], shape).astype(np.float32)
        if name == "label":
            return _boxes(*shape[:2])
        return parameter(name, shape)

    def inputs(self) -> dict[str, np.ndarray]:
        """The contents of the inputs, which every step passes."""
        return {name: self.value(name, shape) for name, shape in self.shapes.items()}


def fill(values: list[tuple[Any, np.ndarray]]) -> None:
    """Writes contents into NDArrays."""
    for array, value in values:
        array[:] = value


def _boxes(images: int, objects: int) -> np.ndarray:
    """Objects of an image: class and corners."""
    random = np.random.RandomState(0)
    corner = random.uniform(0, 0.6, (images, objects, 2))
    size = random.uniform(0.1, 0.4, (images, objects, 2))
    classes = random.randint(0, 3, (images, objects, 1))
    return np.concatenate([classes, corner, corner + size], axis=-1).astype(np.float32)


def _images(build: Build, batch: int, *shape: int) -> Network:
    shapes = {"data": (batch, *shape), "softmax_label": (batch,)}
    return Network(build, shapes, {"softmax_label": 10})


def _sentences(batch: int, steps: int, layers: int = 2, hidden: int = 200) -> Network:
    words = 1000
    shapes: dict[str, Shape] = {"data": (batch, steps), "softmax_label": (batch, steps)}
    for layer in range(layers):
        shapes[f"l{layer}_init_h"] = shapes[f"l{layer}_init_c"] = (batch, hidden)
    build = partial(lstm, steps=steps, layers=layers, hidden=hidden, embed=hidden, words=words)
    return Network(build, shapes, {"data": words, "softmax_label": words})


def _blocks(mx: Any, depth: int, width: int = 256) -> Any:
    """Residual blocks of one fully connected layer each, with separate weights."""
    x = mx.sym.Variable("data")
    for i in range(depth):
        y = mx.sym.FullyConnected(x, num_hidden=width, name=f"fc{i}")
        x = x + mx.sym.Activation(y, act_type="tanh", name=f"tanh{i}")
    return mx.sym.MakeLoss(mx.sym.mean(x), name="loss")


def network(name: str, batch: int, size: int) -> Network:
    """A network by name: ``mlp``, ``lenet``, ``resnet18``, ``resnet50``, ``resnet152``,
    ``iresnet18``, ``inception_v3``, ``vgg16``, ``mobilenet``, ``mobilenet_v2``, ``squeezenet``,
    ``densenet121``, ``super_resolution``, ``ssd_train``, ``ssd_detect``, ``text_line``, ``lstm``,
    ``blocks`` or ``add`` (2 * a + b).

    ``size`` is the side of the images in pixels; the number of words of a sentence for ``lstm``, of
    layers for ``blocks``, of elements for ``add``, of columns (of four pixels) for ``text_line``.
    """
    if name == "lstm":
        return _sentences(batch, size)
    if name == "add":
        build: Build = lambda mx: 2 * mx.sym.Variable("a") + mx.sym.Variable("b")  # noqa: E731
        return Network(build, {"a": (size,), "b": (size,)}, {}, False)
    if name == "blocks":
        return Network(partial(_blocks, depth=size), {"data": (batch, 256)}, {})
    if name == "ssd_train":
        return Network(ssd_train, {"data": (batch, 3, size, size), "label": (batch, 8, 5)}, {})
    if name == "ssd_detect":
        return Network(ssd_detect, {"data": (batch, 3, size, size)}, {}, False)
    if name in ("iresnet18", "super_resolution"):
        builder = iresnet18 if name == "iresnet18" else super_resolution
        return Network(builder, {"data": (batch, 3, size, size)}, {}, False)
    if name == "text_line":
        shapes = {"data": (batch, 1, 32, 4 * size)}
        return Network(partial(text_line, columns=size), shapes, {}, False)
    return _images(IMAGES[name], batch, 1 if size == 28 else 3, size, size)
