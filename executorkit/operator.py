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

:class:`NumpyOp` and :class:`NDArrayOp` are MXNet's former classes for the same purpose: an object
of a subclass is called with symbols and gives a symbol.

The compiled program calls back into Python: inputs are copied to the host as NDArrays on ``cpu()``,
whatever the executor's context, and results are copied back to the device.
"""

from __future__ import annotations

import itertools
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import numpy as np

from . import ops
from .calls.recording import modes
from .context import Context, cpu
from .errors import DTypeError, MXNetError, NotSupportedError, UnknownOperatorError
from .ndarray import NDArray, array, clear_eager_cache
from .ops.custom import Arrays, CustomKernel, register_factory
from .ops.schema.attrs import DTYPE_NUMBERS, Shape, dtype_name
from .ops.schema.operator_registry import numpy_ops
from .program import clear_cache
from .symbol import Symbol, op as symbol_operators
from .symbol.naming import NameManager


class CustomOp:
    """The computations of a custom operator; one object belongs to one operator of one executor.
    Arrays are NDArrays created for the call. The program continues with the contents of
    ``out_data``, ``in_grad`` and ``aux``, after ``backward`` at the next ``forward``."""

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[NDArray],
        out_data: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Computes ``out_data`` from ``in_data``; to be overridden. ``is_train`` is True in
        training mode, ``req`` holds for each output the argument of :meth:`assign`, here always
        'write'; ``aux``, the auxiliary states, may be written, too."""
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
        """Computes ``in_grad`` from the head gradients ``out_grad`` and the arrays of ``forward``;
        unwritten entries are zero, as all are by default. ``req`` holds for each input the argument
        of :meth:`assign`: 'null' where no gradient is asked for, else 'write'. MXNet passes 'add',
        too; here the executor adds gradients to earlier ones."""

    def assign(self, dst: NDArray, req: str, src: object) -> None:
        """Writes ``src`` into ``dst`` as ``req`` says: not at all ('null'), over it ('write',
        'inplace'), or onto it ('add')."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src
        elif req != "null":
            raise ValueError(f"req is {req!r}, expected 'null', 'write', 'inplace' or 'add'")


class _Names:
    def list_arguments(self) -> list[str]:
        """Returns the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Returns the names of the outputs."""
        return ["output"]


class CustomOpProp(_Names):
    """Description of a custom operator for the graph: names, shapes, types, and its creation. The
    constructor of a subclass gets the symbol's attributes as text, by keyword.
    ``need_top_grad=False`` makes it a loss: ``backward`` of an executor needs no head gradient."""

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_auxiliary_states(self) -> list[str]:
        """Returns the names of the auxiliary states."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Any, ...]:
        """Returns the shapes of inputs, outputs and (optionally) auxiliary states. An unknown input
        has the shape ``[]``. By default every output has the shape of the first input."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> tuple[Any, ...]:
        """Returns types of inputs, outputs and states, by default the first input's."""
        dtype = in_type[0]
        outputs, states = self.list_outputs(), self.list_auxiliary_states()
        return in_type, [dtype] * len(outputs), [dtype] * len(states)

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Returns the numbers of the arrays that ``backward`` reads; only head gradients matter."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(
        self, ctx: Context, in_shapes: list[list[int]], in_dtypes: list[int]
    ) -> CustomOp:
        """Returns the operator, for inputs and then states of these shapes and (numbers of) dtypes.
        ``ctx`` is the CPU, where Python operators run."""
        return CustomOp()


class _CustomKernel:
    def __init__(self, op: CustomOp) -> None:
        self._op = op

    def forward(self, train: bool, inputs: Any, outputs: Any, states: Any) -> None:
        # By name, as MXNet does: an operator's parameters stand in any order, or in ``**kwargs``.
        req = ["write"] * len(outputs)
        self._op.forward(is_train=train, req=req, in_data=inputs, out_data=outputs, aux=states)

    def backward(
        self, req: Any, heads: Any, inputs: Any, outputs: Any, grads: Any, states: Any
    ) -> None:
        self._op.backward(
            req=req, out_grad=heads, in_data=inputs, out_data=outputs, in_grad=grads, aux=states
        )


class _NDArrayKernel:
    def __init__(self, kernel: _CustomKernel | _NumpyKernel) -> None:
        self._kernel = kernel

    def forward(self, train: bool, inputs: Arrays, outputs: Arrays, states: Arrays) -> None:
        data, out, aux = map(_wrap, (inputs, outputs, states))
        modes.run(False, train, partial(self._kernel.forward, train, data, out, aux))
        _store(out, outputs)
        _store(aux, states)

    def backward(self, req: list[str], *arrays: Arrays) -> None:
        head, data, out, grad, aux = map(_wrap, arrays)
        modes.run(False, True, partial(self._kernel.backward, req, head, data, out, grad, aux))
        _store(grad, arrays[3])
        _store(aux, arrays[4])


def _wrap(arrays: Arrays) -> list[NDArray]:
    return [array(a, ctx=cpu(), dtype=a.dtype) for a in arrays]


def _store(arrays: Iterable[NDArray], targets: Arrays) -> None:
    for result, target in zip(arrays, targets, strict=True):
        target[...] = result.asnumpy()


class _CheckedProp:
    def __init__(self, op_type: str, prop: CustomOpProp) -> None:
        self._where = f"custom operator {op_type!r}"
        self._prop = prop
        self.arguments = tuple(prop.list_arguments())
        self.outputs = tuple(prop.list_outputs())
        self.states = tuple(prop.list_auxiliary_states())
        heads, data, out = _array_numbers(self.outputs, self.arguments)
        read = prop.declare_backward_dependency(heads, data, out)
        self.needs_head_gradient = not set(heads).isdisjoint(read)

    def _ask(self, method: str, inputs: list[Any]) -> Sequence[Any]:
        try:
            return getattr(self._prop, method)(inputs)
        except Exception as error:
            problem = f"{method} raised {type(error).__name__}: {error}"
            raise MXNetError(self._where, problem) from error

    def _checked(self, method: str, answer: Sequence[Any]) -> list[list[Any]]:
        answers = [list(values or []) for values in answer]
        answers += [[]] * (3 - len(answers))
        kinds = ("arguments", "outputs", "auxiliary states")
        named = (self.arguments, self.outputs, self.states)
        for kind, values, names in zip(kinds, answers, named, strict=True):
            if len(values) != len(names):
                problem = f"{method} answers for {len(values)} {kind}, it has {len(names)}"
                given_by = f"{type(self._prop).__name__}.{method}"
                raise MXNetError(self._where, problem, given_by=given_by)
        return answers

    def shapes(self, inputs: list[Shape]) -> tuple[list[Shape], list[Shape], list[Shape]]:
        answer = self._ask("infer_shape", [list(shape) for shape in inputs])
        ins, outs, states = self._checked("infer_shape", answer)
        return _tuples(ins), _tuples(outs), _tuples(states)

    def types(self, inputs: list[str]) -> tuple[list[str], list[str], list[str]]:
        answer = self._ask("infer_type", [jax.numpy.dtype(name).type for name in inputs])
        default = inputs[0] if inputs else "float32"
        ins, outs, states = (
            [default if t is None else dtype_name(t) for t in dtypes]
            for dtypes in self._checked("infer_type", answer)
        )
        return ins, outs, states

    def create(self, shapes: list[Shape], dtypes: list[str]) -> CustomKernel:
        numbers = [DTYPE_NUMBERS[name] for name in dtypes]
        op = self._prop.create_operator(cpu(), [list(s) for s in shapes], numbers)
        return _NDArrayKernel(_CustomKernel(op))


def _tuples(shapes: Iterable[Iterable[int]]) -> list[Shape]:
    return [tuple(int(d) for d in np.atleast_1d(np.asarray(s, np.int64))) for s in shapes]


P = TypeVar("P", bound=type[CustomOpProp])


def register(reg_name: str) -> Callable[[P], P]:
    """Registers a subclass of :class:`CustomOpProp` as ``op_type=reg_name``. A name may be
    registered again, as happens in notebooks. Cached programs are discarded, and programs compiled
    later use the new class; an executor that has run keeps the old one."""

    def add(prop_cls: P) -> P:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            problem = f"register({reg_name!r}) takes a subclass of CustomOpProp, not {prop_cls!r}"
            raise TypeError(problem)

        def factory(attrs: Mapping[str, str]) -> _CheckedProp:
            texts: dict[str, Any] = dict(attrs)
            return _CheckedProp(reg_name, prop_cls(**texts))

        if register_factory(reg_name, factory):
            clear_cache()
            clear_eager_cache()
        return prop_cls

    return add


# MXNet's former classes of operators in Python


class PythonOp(_Names):
    """Base of :class:`NumpyOp` and :class:`NDArrayOp`; derive from one of these.

    An object is an operator: calling it with symbols gives a symbol of it, and its ``forward`` and
    ``backward`` compute all these symbols. It lives as long as the process. Without
    ``need_top_grad`` it is a loss, whose executor's ``backward`` needs no head gradients.
    """

    #: Operators that symbols have been made of, as in MXNet.
    _ref_holder: list[PythonOp] = []  # noqa: RUF012 - one list for all classes

    def __init__(self, need_top_grad: bool = True) -> None:
        name = type(self).__name__
        warnings.warn(f"{name}: use CustomOp, its successor", UserWarning, stacklevel=2)
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: object, **kwargs: object) -> Symbol:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: object, **kwargs: object) -> Symbol:
        """Returns a symbol of the operator; NotImplementedError in this base class. Arguments are
        symbols, by position or by name, and ``name``. Missing inputs become variables."""
        problem = "it is the base class"
        raise NotSupportedError("PythonOp.get_symbol", problem, hint="NumpyOp or CustomOp")

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Writes the outputs, here the first input."""
        out_data[0][:] = in_data[0]

    def backward(
        self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]
    ) -> None:
        """Writes the gradients of the inputs, here ones; ``out_grad`` may be empty."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[Any]) -> tuple[list[Any], list[Any]]:
        """Returns the shapes of inputs and outputs; by default the output has the first input's."""
        return in_shape, [in_shape[0]]

    def need_top_grad(self) -> bool:
        """Returns True if ``backward`` reads head gradients."""
        return self.need_top_grad_

    def _symbol(
        self, hint: str, kernel: CustomKernel, needs_head: bool, args: Any, kwargs: Any
    ) -> Symbol:
        op_type = f"{type(self).__name__}:{next(_numbers)}"
        info = _ObjectInfo(self, op_type, kernel, needs_head)
        register_factory(op_type, lambda attrs: info)
        PythonOp._ref_holder.append(self)
        kwargs["name"] = NameManager.current.get(kwargs.get("name"), hint)
        return symbol_operators.Custom(*args, op_type=op_type, **kwargs)


#: Numbers that distinguish the operators' types in the graph.
_numbers = itertools.count()


class NumpyOp(PythonOp):
    """An operator in Python on NumPy arrays: float32, writable where results belong. Differs from
    MXNet: an exception in it stops the program, and gradients may be added (``grad_req='add'``).
    Symbols of it can be saved and loaded in this process only."""

    def get_symbol(self, *args: object, **kwargs: object) -> Symbol:
        needs_head = self.need_top_grad()
        return self._symbol("_native", _NumpyKernel(self, needs_head), needs_head, args, kwargs)


class NDArrayOp(PythonOp):
    """An operator in Python on NDArrays of float32 on the CPU; otherwise as :class:`NumpyOp`."""

    def get_symbol(self, *args: object, **kwargs: object) -> Symbol:
        heads, data, out = _array_numbers(self.list_outputs(), self.list_arguments())
        needs_head = not set(heads).isdisjoint(self.declare_backward_dependency(heads, data, out))
        kernel = _NDArrayKernel(_NumpyKernel(self, needs_head))
        return self._symbol("_ndarray", kernel, needs_head, args, kwargs)

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Returns the numbers of the arrays that ``backward`` reads; only head gradients matter."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]


class _NumpyKernel:
    def __init__(self, op: PythonOp, needs_head: bool) -> None:
        self._op = op
        self._needs_head = needs_head

    def forward(self, train: bool, inputs: Any, outputs: Any, states: Any) -> None:
        self._op.forward(in_data=inputs, out_data=outputs)

    def backward(
        self, req: Any, heads: Any, inputs: Any, outputs: Any, grads: Any, states: Any
    ) -> None:
        heads = heads if self._needs_head else []
        self._op.backward(out_grad=heads, in_data=inputs, out_data=outputs, in_grad=grads)


class _ObjectInfo:
    states: tuple[str, ...] = ()

    def __init__(
        self, op: PythonOp, op_type: str, kernel: CustomKernel, needs_head_gradient: bool
    ) -> None:
        self._where = f"operator {op_type!r}"
        self._op = op
        self._kernel = kernel
        self.arguments = tuple(op.list_arguments())
        self.outputs = tuple(op.list_outputs())
        self.needs_head_gradient = needs_head_gradient

    def shapes(self, inputs: list[Shape]) -> tuple[list[Shape], list[Shape], list[Shape]]:
        ins, outs = self._op.infer_shape([list(shape) for shape in inputs])
        kinds = (("arguments", ins, self.arguments), ("outputs", outs, self.outputs))
        for kind, shapes, names in kinds:
            if len(shapes) != len(names):
                problem = f"infer_shape answers for {len(shapes)} {kind}, it has {len(names)}"
                raise MXNetError(self._where, problem)
        return _tuples(ins), _tuples(outs), []

    def types(self, inputs: list[str]) -> tuple[list[str], list[str], list[str]]:
        for name, dtype in zip(self.arguments, inputs, strict=True):
            if dtype != "float32":
                problem = f"{name!r} is {dtype}, expected float32"
                raise DTypeError(self._where, problem, hint="CustomOp")
        return ["float32"] * len(inputs), ["float32"] * len(self.outputs), []

    def create(self, shapes: list[Shape], dtypes: list[str]) -> CustomKernel:
        return self._kernel


def _array_numbers(outputs: Sequence[str], arguments: Sequence[str]) -> tuple[list[int], ...]:
    numbers = iter(range(len(arguments) + 2 * len(outputs)))
    return tuple([next(numbers) for _ in names] for names in (outputs, arguments, outputs))


# Operators by name

#: Number, names and types of an operator's arguments.
OperatorArguments = namedtuple("OperatorArguments", ["narg", "names", "types"])


def get_all_registered_operators() -> list[str]:
    """Returns the names of all operators, with their aliases."""
    return sorted({*ops.all_names(), *numpy_ops()})


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Returns the inputs and attributes of an operator, in the order of its function in ``mx.sym``.

    Types of inputs are 'NDArray-or-Symbol', or 'NDArray-or-Symbol[]' for any number of them; types
    of attributes are their accepted values, and 'required' or the default. (MXNet's words differ.)
    Raises MXNetError (UnknownOperatorError) for an unknown name.
    """
    op = ops.lookup(op_name)
    if op is None:
        raise UnknownOperatorError("get_operator_arguments", f"no operator {op_name!r}")
    types = dict.fromkeys(op.array_names, "NDArray-or-Symbol")
    if op.variadic is not None:
        types = {op.variadic: "NDArray-or-Symbol[]"}
    for attr in op.attrs.values():
        need = "required" if attr.required else f"optional, default={attr.default!r}"
        types[attr.name] = f"{attr.accepts}, {need}"
    return OperatorArguments(len(types), list(types), list(types.values()))
