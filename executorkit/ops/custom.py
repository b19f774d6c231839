"""Custom: an operator written in Python, called back from the compiled program with NumPy arrays.

``executorkit.operator`` has the classes that users derive from, and registers a
:data:`CustomOpFactory` here.
"""

from __future__ import annotations

import itertools
import logging
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_derivatives import SymbolicZero
from jax.experimental import io_callback

from .._support.annotations import Function, Operands, Raw, Tree
from ..errors import MXNetError, UnknownOperatorError
from .schema.attrs import Shape, Train, dtype_name
from .schema.inference import Params, ShapeFacts, TypeFacts, is_fully_known
from .schema.operator_registry import register
from .schema.traits import CALLS_PYTHON, NAMED_DATA
from .value_checks import check_values, collects_checks, keep_exception

Arrays = Sequence[np.ndarray]

_log = logging.getLogger(__name__)
_INT32 = jax.ShapeDtypeStruct((), np.dtype("int32"))


class CustomKernel(Protocol):
    """The two computations of one custom operator, with the state that they share."""

    def forward(self, train: bool, inputs: Arrays, outputs: Arrays, states: Arrays) -> None: ...

    def backward(
        self, req: list[str], heads: Arrays, inputs: Arrays, outputs: Arrays, grads: Arrays,
        states: Arrays, /,
    ) -> None: ...  # fmt: skip


class CustomOpInfo(Protocol):
    """Names, shapes and dtype names of a custom operator: inputs, outputs, states."""

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[str, ...]
    needs_head_gradient: bool

    def shapes(self, inputs: list[Shape]) -> tuple[list[Shape], list[Shape], list[Shape]]: ...

    def types(self, inputs: list[str]) -> tuple[list[str], list[str], list[str]]: ...

    def create(self, shapes: list[Shape], dtypes: list[str]) -> CustomKernel: ...


#: From a node's attributes, as texts and without ``op_type``, to its description.
CustomOpFactory = Callable[[Mapping[str, str]], CustomOpInfo]

_op_factories: dict[str, CustomOpFactory] = {}


def register_factory(op_type: str, factory: CustomOpFactory) -> bool:
    """Registers ``op_type``; returns True if it replaces another of this name."""
    replaced = op_type in _op_factories
    _op_factories[op_type] = factory
    return replaced


@lru_cache(maxsize=1024)
def _cached_op_info(factory: CustomOpFactory, attrs: tuple[tuple[str, str], ...]) -> CustomOpInfo:
    return factory(dict(attrs))


def op_info(p: Mapping[str, Any]) -> CustomOpInfo:
    factory = _op_factories.get(p["op_type"])
    if factory is None:
        problem = f"op_type={p['op_type']!r} is not registered"
        hint = "@mx.operator.register(...) on a CustomOpProp, before the graph is made"
        raise UnknownOperatorError("operator Custom", problem, hint=hint)
    return _cached_op_info(factory, tuple(sorted((k, v) for k, v in p.items() if k != "op_type")))


def _custom_inputs(p: Params) -> tuple[str, ...]:
    info = op_info(p)
    return (*info.arguments, *info.states)


def _infer_custom_shape(s: ShapeFacts, p: Params) -> None:
    info = op_info(p)
    input_shapes = [s[name] for name in info.arguments]
    complete = all(is_fully_known(shape) for shape in input_shapes)
    try:
        inputs, _, states = info.shapes([shape or () for shape in input_shapes])
    except Exception:
        # User code that reads the shape of an input which is not known yet: later, perhaps.
        if complete:
            raise
        return
    because = f"infer_shape of {p.op_type!r} says so"
    for name, shape in zip((*info.arguments, *info.states), (*inputs, *states), strict=True):
        if shape:
            s.set(name, shape, because)


def _infer_custom_type(t: TypeFacts, p: Params) -> None:
    info = op_info(p)
    input_types: list[Any] = [t[name] for name in info.arguments]
    first = next((dtype for dtype in input_types if dtype is not None), None)
    if first is None and input_types:
        return
    inputs, outputs, states = info.types([dtype or first for dtype in input_types if first])
    for name, dtype in zip((*info.arguments, *info.states), (*inputs, *states), strict=True):
        t.set(name, dtype, f"infer_type of {p.op_type!r} says so")
    for i, dtype in enumerate(outputs):
        t.set(f"out{i}", dtype)


class _KernelRef:
    """A kernel, created when it first runs, and its number among the residuals: a program may be
    traced again, and its backward must use the stateful kernel whose forward ran."""

    _numbers = itertools.count(1)
    _alive: ClassVar[weakref.WeakValueDictionary[int, _KernelRef]] = weakref.WeakValueDictionary()

    def __init__(self, create: Callable[[], CustomKernel]) -> None:
        self._create = create
        self._kernel: CustomKernel | None = None
        #: Auxiliary states before the latest backward, and after it.
        self._changes: tuple[Arrays, Arrays] = (), ()
        self.number = next(self._numbers) % 2**31
        self._alive[self.number] = self

    @property
    def kernel(self) -> CustomKernel:
        if self._kernel is None:
            self._kernel = self._create()
        return self._kernel

    def numbered(self, number: int) -> _KernelRef:
        return self._alive.get(number, self)

    def backward(self, req: list[str], *arrays: Arrays) -> None:
        before = _copies(arrays[-1])
        self.kernel.backward(req, *arrays)
        self._changes = before, arrays[-1]

    def current(self, states: Arrays) -> list[np.ndarray]:
        before, after = self._changes
        is_unset = all(map(np.array_equal, before, states))
        return _copies(after if before and is_unset else states)


Kernels = MutableMapping[Hashable, _KernelRef]
#: The kernels of the program that is traced, and how many nodes of a kind its trace has met.
_traced: ContextVar[tuple[Kernels, Counter[Hashable]] | None] = ContextVar("traced", default=None)


def with_kernels(kernels: Kernels, function: Function) -> Function:
    """Returns ``function``, whose traces take the kernels of their nodes from ``kernels``: what an
    operator keeps in training is there for inference, as in an executor of MXNet."""

    def traced(*args: Any) -> Any:
        token = _traced.set((kernels, Counter()))
        try:
            return function(*args)
        finally:
            _traced.reset(token)

    return traced


def _kernel_ref(kind: Hashable, create: Callable[[], CustomKernel]) -> _KernelRef:
    kernels, counts = _traced.get() or ({}, Counter())
    counts[kind] += 1
    return kernels.setdefault((kind, counts[kind]), _KernelRef(create))


def _copies(arrays: Sequence[Any]) -> list[np.ndarray]:
    return [np.array(a) for a in arrays]


@register(
    "Custom",
    inputs=_custom_inputs,
    outputs=lambda p: op_info(p).outputs,
    aux=lambda p: op_info(p).states,
    infer_shape=_infer_custom_shape,
    infer_type=_infer_custom_type,
    loss=lambda p: not op_info(p).needs_head_gradient,
    checks_values=True,
    traits={CALLS_PYTHON, NAMED_DATA},
)
def custom(*data: Array, op_type: str, train: Train = False, **attrs: str):
    """Runs the operator that ``mx.operator.register(op_type)`` registered, in Python.

    data: the arguments that its ``list_arguments`` names, then the auxiliary states; shapes and
    dtypes are as its ``infer_shape`` and ``infer_type`` say. All attributes but ``op_type`` reach
    its constructor as strings. Every run of the program calls its ``forward`` once, on the host,
    and ``backward`` once per gradient. The next ``forward`` takes and stores what ``backward`` did
    to auxiliary states, unless they were set meanwhile (MXNet stores it at once). Integer inputs
    have no gradient.

    An exception in ``forward`` or ``backward`` is logged, and raised where a result is read, as the
    cause of an MXNetError. The results are zeros.
    """
    info = op_info({"op_type": op_type, **attrs})
    count = len(info.arguments)
    shapes = [tuple(x.shape) for x in data]
    dtypes = [dtype_name(x.dtype) for x in data]
    out_shapes, out_types = info.shapes(shapes[:count])[1], info.types(dtypes[:count])[1]
    outs = [
        jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))
        for shape, dtype in zip(out_shapes, out_types, strict=True)
    ]
    states = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in data[count:]]
    floating = [i for i in range(count) if jnp.issubdtype(data[i].dtype, jnp.floating)]
    smooth = [jax.ShapeDtypeStruct(data[i].shape, data[i].dtype) for i in floating]
    instance = _kernel_ref((info, *shapes, *dtypes), lambda: info.create(shapes, dtypes))
    defers_errors, where = collects_checks(), f"operator Custom ({op_type!r})"

    def run(direction: str, compute: Callable[[], None]) -> np.int32:
        try:
            compute()
        except Exception as error:
            if not defers_errors:
                because = f"{type(error).__name__}: {error}"
                raised = MXNetError(where, f"{direction} raised an exception", because=because)
                keep_exception(raised)
                raise raised from error
            _log.exception("operator Custom: %s of %r raised an exception", direction, op_type)
            return np.int32(keep_exception(error))
        return np.int32(0)

    def check(direction: str, exception: Array) -> None:
        check_values(exception == 0, where, f"{direction} raised an exception", exception=exception)

    def run_forward(*arrays: Raw) -> Operands:
        new = instance.current(arrays[count:])
        results = [np.zeros(x.shape, x.dtype) for x in outs]
        exception = run(
            "forward", lambda: instance.kernel.forward(train, _copies(arrays[:count]), results, new)
        )
        return (np.int32(instance.number), exception, *results, *new)

    def run_backward(req: list[str], number: Any, *arrays: Raw) -> list[Any]:
        heads, saved = _copies(arrays[: len(outs)]), _copies(arrays[len(outs) :])
        inputs, results = saved[:count], saved[count : count + len(outs)]
        grads = [np.zeros(a.shape, a.dtype) for a in inputs]
        states = saved[count + len(outs) :]
        exception = run(
            "backward",
            lambda: instance.numbered(int(number)).backward(
                req, heads, inputs, results, grads, states
            ),
        )
        return [exception, *(grads[i] for i in floating)]

    def forward(*data: Array):
        number, error, *results = io_callback(run_forward, (_INT32, _INT32, *outs, *states), *data)
        return number, (error, *results)

    @jax.custom_vjp
    def call(*data: Array):
        return forward(*data)[1]

    def forward_rule(*primals: Any):
        data = [x.value for x in primals]
        number, results = forward(*data)
        # Structures, since values of residuals are traced.
        perturbed = [() if x.perturbed else None for x in primals[:count]]
        return results, (perturbed, number, data[:count], results[1:])

    def backward_rule(residuals: Tree, heads: Operands):
        perturbed, number, inputs, results = residuals
        cotangents = [
            jnp.zeros(o.shape, o.dtype) if isinstance(h, SymbolicZero) else h
            for h, o in zip(heads[1 : len(outs) + 1], outs, strict=True)
        ]
        exception, *computed = io_callback(
            partial(run_backward, ["null" if x is None else "write" for x in perturbed]),
            [_INT32, *smooth],
            number,
            *cotangents,
            *inputs,
            *results,
        )
        check("backward", exception)
        grads = iter(computed)
        return tuple(next(grads) if i in floating else None for i in range(len(data)))

    call.defvjp(forward_rule, backward_rule, symbolic_zeros=True)
    exception, *results = call(*data[:count], *(jax.lax.stop_gradient(x) for x in data[count:]))
    check("forward", exception)
    return tuple(results)
