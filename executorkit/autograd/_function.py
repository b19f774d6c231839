"""``autograd.Function``: a differentiable function whose gradient is the user's Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp

from ..calls.recording import modes
from ..errors import ArgumentValueError, InputTypeError, MXNetError
from ..ndarray import NDArray
from ._immediate_segment import ImmediateSegment, differentiable


class Function:
    """A differentiable function of NDArrays whose gradient is the user's Python code.

    A subclass has ``forward(*inputs)``, which returns an NDArray or several, and
    ``backward(*head_grads)``, which returns a gradient for each input. An object is called once.
    Called with symbols, as in a hybridized block, it is what ``forward`` composes: ``backward`` is
    not used.

    >>> import executorkit as mx
    >>> class Clip(mx.autograd.Function):
    ...     def forward(self, x):
    ...         return x.clip(0, 1)
    ...     def backward(self, head_grad):
    ...         return head_grad
    >>> x = mx.nd.array([-1.0, 0.5])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Clip()(x) * 2
    >>> y.backward()
    >>> x.grad.asnumpy().tolist()
    [2.0, 2.0]

    Unlike in MXNet, ``grad_req='add'`` adds the gradients, and recording continues after an
    exception in ``forward``.
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *args: Any) -> None:
        """Keeps arrays as ``saved_tensors``, for ``backward``."""
        self.saved_tensors = args

    def __call__(self, *inputs: Any) -> Any:
        if self._used:
            problem = (
                "Each Function instance can only be called once. Please create another instance."
            )
            raise ArgumentValueError("autograd.Function", problem)
        self._used = True
        recording = modes.recording
        results = modes.run(False, modes.training, partial(self.forward, *inputs))
        arrays = [x for x in inputs if isinstance(x, NDArray)]
        if not recording or all(differentiable(x) is None for x in arrays):
            return results
        outputs = [results] if isinstance(results, NDArray) else list(results)
        outputs = [x.detach() if any(x is y for y in arrays) else x for x in outputs]
        ImmediateSegment(arrays, outputs, lambda heads: self._gradients(heads, outputs, arrays))
        if isinstance(results, NDArray):
            return outputs[0]
        return outputs if isinstance(results, list) else tuple(outputs)

    def _gradients(
        self, heads: Sequence[Any], outputs: Sequence[NDArray], inputs: Sequence[NDArray]
    ) -> list[Any]:
        cotangents = []
        for head, output in zip(heads, outputs, strict=True):
            value = head
            if value is None:
                value = jnp.zeros(output.shape, output.storage.dtype)
            cotangents.append(type(output).from_jax(value, output.context))
        results = modes.run(False, True, partial(self.backward, *cotangents))
        grads = results if isinstance(results, (list, tuple)) else [results]
        name = f"autograd.Function: {type(self).__name__}.backward"
        if len(grads) != len(inputs):
            problem = f"it returned {len(grads)} gradients, expected {len(inputs)}, one per input"
            raise MXNetError(name, problem)
        for grad in grads:
            if not isinstance(grad, NDArray):
                raise InputTypeError(
                    name, f"it returned {type(grad).__name__}, expected an NDArray"
                )
        return [grad.jax for grad in grads]

    def forward(self, *inputs: Any) -> Any:
        """Returns the outputs for NDArrays; a subclass computes them."""
        raise NotImplementedError

    def backward(self, *output_grads: Any) -> Any:
        """Returns the inputs' gradients for the outputs' gradients; a subclass computes them."""
        raise NotImplementedError
