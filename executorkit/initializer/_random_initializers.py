"""Initializers that draw random numbers: Uniform, Normal, Orthogonal, Xavier, MSRAPrelu.

They take floating-point arrays and are reproducible after ``mx.random.seed``. The distributions are
MXNet's, the numbers are not.
"""

import math
from typing import Literal

import numpy as np

from ..errors import InitializerError
from ..ndarray import NDArray
from ._host_numbers import draw_normal, draw_uniform, host_generator
from ._initializer import Initializer, register


@register
class Uniform(Initializer):
    """Uniform numbers from [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if not self.scale >= 0:
            raise _refused(self, name, f"scale is {self.scale}, expected 0 or more")
        draw_uniform(arr, self.scale)


@register
class Normal(Initializer):
    """Normal numbers with mean 0 and standard deviation ``sigma``."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if not self.sigma > 0:
            raise _refused(self, name, f"sigma is {self.sigma}, expected more than 0")
        draw_normal(arr, self.sigma)


@register
class Orthogonal(Initializer):
    """``scale`` times a matrix of orthonormal rows or columns, whichever are fewer. Saxe et al.
    2013, https://arxiv.org/abs/1312.6120.

    The parameter counts as a matrix of ``shape[0]`` rows. It is a factor of the singular value
    decomposition of a random matrix, whose entries are from [-1, 1) with ``rand_type`` 'uniform',
    and normal with 'normal'.
    """

    def __init__(
        self, scale: float = 1.414, rand_type: Literal["uniform", "normal"] = "uniform"
    ) -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if len(arr.shape) < 2:
            raise _refused(self, name, f"shape {arr.shape}, expected at least two axes")
        matrix_shape = (arr.shape[0], math.prod(arr.shape[1:]))
        generator = host_generator(arr)
        if self.rand_type == "uniform":
            host = 2 * generator.random(matrix_shape, np.float32) - 1
        elif self.rand_type == "normal":
            host = generator.standard_normal(matrix_shape, np.float32)
        else:
            problem = f"rand_type is {self.rand_type!r}, expected 'uniform' or 'normal'"
            raise _refused(self, name, problem)
        left, _, right = np.linalg.svd(host, full_matrices=False)
        arr[:] = (self.scale * (left if left.shape == matrix_shape else right)).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Random numbers with a spread that preserves the magnitude of signals from layer to layer.

    rnd_type
        'uniform' draws from [-s, s), 'gaussian' with standard deviation s = sqrt(magnitude / f).
    factor_type
        With n inputs to an output (``shape[1]`` times the kernel's size) and m outputs of an input
        (``shape[0]`` times it), f is n ('in'), m ('out') or (n + m) / 2 ('avg').
    magnitude
        The factor of the variance.

    Glorot and Bengio 2010. Raises ValueError for fewer than two axes, and for other types.
    """

    def __init__(
        self,
        rnd_type: Literal["uniform", "gaussian"] = "uniform",
        factor_type: Literal["avg", "in", "out"] = "avg",
        magnitude: float = 3,
    ) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if len(arr.shape) < 2:
            problem = f"shape {arr.shape}, expected at least two axes, outputs and inputs"
            raise _refused(self, name, problem, hint="mx.init.Mixed, or init= of the variable")
        kernel = math.prod(arr.shape[2:])
        outputs, inputs = arr.shape[0] * kernel, arr.shape[1] * kernel
        factors = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}
        draws = {"uniform": draw_uniform, "gaussian": draw_normal}
        for option, choices in (("factor_type", factors), ("rnd_type", draws)):
            if getattr(self, option) not in choices:
                expected = ", ".join(map(repr, choices))
                problem = f"{option} is {getattr(self, option)!r}, expected one of {expected}"
                raise _refused(self, name, problem)
        factor = factors[self.factor_type]
        if not (self.magnitude >= 0 and factor):
            raise _refused(self, name, f"magnitude {self.magnitude}, shape {arr.shape}: no spread")
        draws[self.rnd_type](arr, math.sqrt(self.magnitude / factor))


@register
class MSRAPrelu(Xavier):
    """Xavier's normal numbers with magnitude 2 / (1 + slope ** 2), for layers before a PReLU with
    that slope at the start, 0 for a ReLU. He et al. 2015, https://arxiv.org/abs/1502.01852."""

    def __init__(
        self, factor_type: Literal["avg", "in", "out"] = "avg", slope: float = 0.25
    ) -> None:
        super().__init__("gaussian", factor_type, 2 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


def _refused(initializer: Initializer, name: str, problem: str, **hint: str) -> InitializerError:
    return InitializerError(f"{type(initializer).__name__}: parameter {name!r}", problem, **hint)
