"""Operators written in Python: ``mx.operator.CustomOp``, ``CustomOpProp`` and ``register``.

    @mx.operator.register("halve")
    class HalveProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Halve()

    class Halve(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] / 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] / 2)

    net = mx.sym.Custom(mx.sym.var("data"), op_type="halve")

The compiled program calls back into Python: inputs are copied to the host as NDArrays on ``cpu()``,
whatever the executor's context, and results are copied back to the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np

from .context import Context, cpu
from .errors import MXNetError, explain
from .ndarray import NDArray, array, clear_eager_cache
from .ops.custom import Arrays, register_factory
from .ops.schema.attrs import DTYPE_NUMBERS, Shape, dtype_name
from .program import clear_cache

__all__ = ["CustomOp", "CustomOpProp", "register"]


class CustomOp:
    """The computations of a custom operator; one object belongs to one operator of one program.

    Arrays are NDArrays created for the call. The program continues with the contents of
    ``out_data``, ``in_grad`` and, after ``forward``, ``aux``.
    """

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[NDArray],
        out_data: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Computes ``out_data`` from ``in_data``; to be overridden.

        is_train
            whether the executor runs in training mode.
        req
            for each output what :meth:`assign` is to do, here always 'write'.
        in_data, out_data, aux
            inputs, outputs to be written, and auxiliary states, which may be.
        """
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Computes ``in_grad``; entries that it does not write are zero, as all are by default.

        req
            for each input what :meth:`assign` is to do, here always 'write': gradients are added
            to earlier ones outside.
        out_grad
            head gradients of the outputs.
        in_data, out_data, in_grad, aux
            inputs and results of ``forward``, gradients to be written, and auxiliary states.
        """

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Writes ``src`` into ``dst`` as ``req`` says: 'null' not at all, 'write' and 'inplace'
        over it, 'add' onto it."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src
        elif req != "null":
            raise ValueError(f"req is {req!r}, expected 'null', 'write', 'inplace' or 'add'")


class CustomOpProp:
    """Description of a custom operator for the graph: names, shapes, types, and its creation.

    The constructor of a subclass gets the symbol's attributes as text, by keyword.
    ``need_top_grad=False`` makes it a loss: ``backward`` of an executor needs no head gradient.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Any, ...]:
        """Shapes of inputs, outputs and (optionally) auxiliary states; an input that is not known
        yet has the shape ``[]``. By default every output has the shape of the first input."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> tuple[Any, ...]:
        """Element types, likewise; by default all are that of the first input."""
        dtype = in_type[0]
        outputs, states = self.list_outputs(), self.list_auxiliary_states()
        return in_type, [dtype] * len(outputs), [dtype] * len(states)

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Numbers of the arrays that ``backward`` reads; only the head gradients among them have an
        effect."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(
        self, ctx: Context, in_shapes: list[list[int]], in_dtypes: list[int]
    ) -> CustomOp:
        """The operator, for inputs and then states of these shapes and (numbers of) dtypes.

        ctx
            the CPU: Python operators run there, wherever the program does.
        """
        return CustomOp()


class _NumpyOperator:
    """A :class:`CustomOp` for the callbacks: NumPy in, NDArrays for the user, NumPy out."""

    def __init__(self, op: CustomOp) -> None:
        self._op = op

    def forward(self, train: bool, inputs: Arrays, outputs: Arrays, states: Arrays) -> None:
        data, out, aux = map(_wrap, (inputs, outputs, states))
        self._op.forward(train, ["write"] * len(out), data, out, aux)
        _store(out, outputs)
        _store(aux, states)

    def backward(
        self, heads: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays, states: Arrays
    ) -> None:
        head, data, out, grad, aux = map(_wrap, (heads, inputs, outputs, grads, states))
        self._op.backward(["write"] * len(grad), head, data, out, grad, aux)
        _store(grad, grads)


def _wrap(arrays: Arrays) -> list[NDArray]:
    return [array(a, ctx=cpu(), dtype=a.dtype) for a in arrays]


def _store(arrays: Iterable[NDArray], targets: Arrays) -> None:
    for result, target in zip(arrays, targets, strict=True):
        target[...] = result.asnumpy()


class _CheckedProp:
    """A :class:`CustomOpProp` whose answers are checked before the graph gets them."""

    def __init__(self, op_type: str, prop: CustomOpProp) -> None:
        self._where = f"custom operator {op_type!r}"
        self._prop = prop
        self.arguments = tuple(prop.list_arguments())
        self.outputs = tuple(prop.list_outputs())
        self.states = tuple(prop.list_auxiliary_states())
        numbers = iter(range(len(self.arguments) + 2 * len(self.outputs)))
        heads, data, out = (
            [next(numbers) for _ in names] for names in (self.outputs, self.arguments, self.outputs)
        )
        read = prop.declare_backward_dependency(heads, data, out)
        self.needs_head_gradient = not set(heads).isdisjoint(read)

    def _checked(self, method: str, answer: Sequence[Any]) -> list[list[Any]]:
        answers = [list(values or []) for values in answer]
        answers += [[]] * (3 - len(answers))
        for kind, values, names in zip(
            ("arguments", "outputs", "auxiliary states"),
            answers,
            (self.arguments, self.outputs, self.states),
            strict=True,
        ):
            if len(values) != len(names):
                raise MXNetError(
                    explain(
                        self._where,
                        f"{method} answers for {len(values)} {kind}, it has {len(names)}",
                        given_by=f"{type(self._prop).__name__}.{method}",
                    )
                )
        return answers

    def shapes(self, inputs: list[Shape]) -> tuple[list[Shape], list[Shape], list[Shape]]:
        answer = self._prop.infer_shape([list(shape) for shape in inputs])
        ins, outs, states = self._checked("infer_shape", answer)
        return _tuples(ins), _tuples(outs), _tuples(states)

    def types(self, inputs: list[str]) -> tuple[list[str], list[str], list[str]]:
        answer = self._prop.infer_type([jax.numpy.dtype(name).type for name in inputs])
        default = inputs[0]
        ins, outs, states = (
            [default if t is None else dtype_name(t) for t in dtypes]
            for dtypes in self._checked("infer_type", answer)
        )
        return ins, outs, states

    def create(self, shapes: list[Shape], dtypes: list[str]) -> _NumpyOperator:
        numbers = [DTYPE_NUMBERS[name] for name in dtypes]
        return _NumpyOperator(self._prop.create_operator(cpu(), [list(s) for s in shapes], numbers))


def _tuples(shapes: Iterable[Iterable[int]]) -> list[Shape]:
    return [tuple(int(d) for d in np.atleast_1d(np.asarray(s, np.int64))) for s in shapes]


P = TypeVar("P", bound=type[CustomOpProp])


def register(reg_name: str) -> Callable[[P], P]:
    """Registers a subclass of :class:`CustomOpProp` as ``op_type=reg_name``.

    A name may be registered again, as happens in notebooks. Cached programs are discarded, and
    programs compiled later use the new class; an executor that has run keeps the old one.
    """

    def add(prop_cls: P) -> P:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise TypeError(
                f"register({reg_name!r}) takes a subclass of CustomOpProp, not {prop_cls!r}"
            )

        def factory(attrs: Mapping[str, str]) -> _CheckedProp:
            texts: dict[str, Any] = dict(attrs)
            return _CheckedProp(reg_name, prop_cls(**texts))

        if register_factory(reg_name, factory):
            clear_cache()
            clear_eager_cache()
        return prop_cls

    return add
