"""Parameters of blocks: arrays with a name and a gradient, on one context or several."""

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from .. import initializer
from .._support.annotations import Attrs
from .._support.shape_semantics import numpy_arrays, numpy_shapes
from ..arrays.values import HOST_TYPES
from ..calls.recording import REQUESTS, modes, new_variable
from ..calls.rollback import Rollback, complete
from ..context import Context, cpu, current_context
from ..errors import (
    ArgumentValueError,
    DeferredInitializationError,
    InputTypeError,
    MXNetError,
    ParameterShapeError,
    UnknownNameError,
)
from ..ndarray import NDArray, add_n, array, zeros
from ..ndarray.array_classes import as_new_arrays
from ..ops.schema.calls import numpy_dtype_name
from ..parallel import ReplicatedArray, replicate, replicated
from ..symbol import Symbol, var
from ._types import DType, Init

#: The classes of a block's inputs.
tensor_types = (Symbol, NDArray)

_STORAGE_TYPES = ("default", "row_sparse", "csr")
#: Maximum number of elements of a constant whose value symbols hold.
_MAX_TOLD = 4096
_SPARSE = "parameters and gradients of sparse storage types are dense here; results are equal"


class DeferredInitialization(NamedTuple):
    """Arguments of an initialization that waits for the shape; ``data`` are later contents."""

    init: Any
    ctx: list[Context]
    default_init: Any
    data: Any = None


class Parameter:
    """An array that a block learns or keeps, with a copy on each of its contexts.

    name
        The full name, such as ``dense0_weight``. Initializers read its end; optimizers know the
        parameter by it.
    grad_req
        'write', 'add' (gradients add up until ``zero_grad``) or 'null' (no gradient).
    shape
        An int or a tuple; 0 is an unknown length (-1 under ``mx.np_shape()``), None an unknown
        rank. Assigning ``shape``, ``set_data`` and loading make unknown lengths known.
    dtype
        The element type.
    lr_mult, wd_mult
        Factors of the learning rate and of the weight decay.
    init
        An initializer, its name or its JSON text; preferred to the network's.
    allow_deferred_init
        Whether ``initialize`` may wait until a block's first call infers the shape.
    differentiable
        False fixes ``grad_req`` to 'null'.
    stype, grad_stype
        'default'. 'row_sparse' and 'csr' are accepted, but arrays and gradients are dense; a
        warning says so once.

    ``data()`` is an ordinary NDArray, marked for ``autograd``; ``set_data`` writes into it. A copy
    (``copy.deepcopy``, ``pickle``) has gradients of its own. Unlike in MXNet, a method that fails
    changes nothing, and an exception in between, such as KeyboardInterrupt, leaves either the old
    or the new contents on every context.

    >>> import executorkit as mx
    >>> weight = mx.gluon.Parameter("weight", shape=(2, 3))
    >>> weight.initialize(mx.init.One())
    >>> weight.data().asnumpy().tolist(), weight.grad().shape
    ([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], (2, 3))
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: Any = None,
        dtype: DType = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Init = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for option, value in (("stype", stype), ("grad_stype", grad_stype)):
            if value not in _STORAGE_TYPES:
                problem = f"{option}={value!r}, expected {', '.join(map(repr, _STORAGE_TYPES))}"
                raise ArgumentValueError(f"parameter {name!r}", problem)
            if value != "default":
                # Located here, not at the caller, so that Python shows it once.
                warnings.warn(_SPARSE, UserWarning, stacklevel=1)
        _check_request(name, grad_req)
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._shape = None if shape is None else shape_lengths(shape)
        self._dtype = dtype
        self._differentiable = differentiable
        self._grad_req = grad_req if differentiable else "null"
        self._allow_deferred_init = allow_deferred_init
        self._stype = stype
        self._grad_stype = grad_stype
        #: One array per context; None until the parameter is initialized.
        self._data: list[NDArray] | None = None
        #: The gradient of each; None until then, or without gradients.
        self._grad: list[NDArray] | None = None
        self._deferred_init: DeferredInitialization | None = None
        self._var: Symbol | None = None
        self._trainer: Any = None

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    def __getstate__(self) -> Attrs:
        return {**vars(self), "_var": None, "_trainer": None}

    def __setstate__(self, state: Attrs) -> None:
        vars(self).update(state)
        arrays, grads = self._data, self._grad
        if arrays and grads and arrays[0].grad is not grads[0]:  # not a shallow copy
            self._adopt(replicate(arrays), replicate(grads))
        elif arrays and grads is None:
            self._data = replicate(arrays)

    # Attributes

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The lengths of the axes, 0 for unknown lengths (-1 under ``mx.np_shape()``). Assigning
        fills in unknown lengths. AssertionError (ParameterShapeError) if known lengths differ."""
        if self._shape and 0 in self._shape and numpy_shapes():
            return tuple(d or -1 for d in self._shape)
        return self._shape

    @shape.setter
    def shape(self, new_shape: Any) -> None:
        self._shape = self._filled_shape(shape_lengths(new_shape))

    def _filled_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if not self._agrees(shape):
            problem = f"shape {shape} contradicts its shape {self._shape}"
            raise ParameterShapeError(f"parameter {self.name!r}", problem)
        return shape

    def _agrees(self, shape: tuple[int, ...]) -> bool:
        known = self._shape
        return known is None or (
            len(known) == len(shape)
            and all(old in (0, new) for old, new in zip(known, shape, strict=True))
        )

    def _has_known_shape(self) -> bool:
        shape = self._shape
        return shape is not None and 0 not in shape and (bool(shape) or numpy_shapes())

    @property
    def dtype(self) -> Any:
        """The element type, as it was passed; assigning is :meth:`cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DType) -> None:
        self.cast(dtype)

    @property
    def grad_req(self) -> str:
        """'write', 'add' or 'null'. Assigning creates new gradients of zeros, or removes them."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        _check_request(self.name, req)
        if not self._differentiable:
            req = "null"
        if req == self._grad_req:
            return
        if self._data is None:
            self._grad_req = req
            return
        arrays = [x.detach() for x in self._data] if req == "null" else self._data
        self._adopt(arrays, request=req)

    # Initialization

    def initialize(
        self,
        init: Init = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: Any = initializer.Uniform(),  # noqa: B008
        force_reinit: bool = False,
    ) -> None:
        """Creates the arrays and their gradients.

        init
            An initializer or its name; by default the parameter's own, else ``default_init``. Its
            ``_init_weight`` is called, whatever the parameter's name ends in.
        ctx
            A context or several; by default the current one. Random numbers are drawn once, from
            the stream of ``cpu(0)``.
        force_reinit
            Whether to initialize again; otherwise an initialized parameter stays, with a warning.

        With ``allow_deferred_init`` a parameter of unknown shape waits; without it raises
        ValueError (ArgumentValueError).
        """
        if self._data is not None and not force_reinit:
            text = f"parameter {self.name!r} is initialized already; force_reinit=True replaces it"
            warnings.warn(text, UserWarning, stacklevel=2)
            return
        if init is None:
            init = default_init if self.init is None else self.init
        deferred = DeferredInitialization(init, _context_list(ctx), default_init)
        if not self._allow_deferred_init:
            self._check_shape()
        if self._has_known_shape():
            modes.run(False, False, partial(self._initialize_now, deferred))
        else:
            self._deferred_init = deferred

    def _check_shape(self) -> None:
        if not self._has_known_shape():
            problem = f"it cannot be initialized, because its shape is {self.shape}"
            hint = "a complete shape; in_units, in_channels, ... of layers"
            raise ArgumentValueError(f"parameter {self.name!r}", problem, hint=hint)

    def _finish_deferred_init(self) -> None:
        if self._deferred_init is not None:
            self._check_shape()
            modes.run(False, False, partial(self._initialize_now, self._deferred_init))

    def _initialize_now(self, deferred: DeferredInitialization) -> None:
        before, data = self._data, deferred.data
        with Rollback(lambda: self._data is not before, streams=True):
            if data is None:
                (data,) = as_new_arrays([zeros(self._shape, dtype=self._dtype, ctx=cpu())])
                description = initializer.InitDesc(self.name, {"__init__": deferred.init})
                initializer.create(deferred.default_init)(description, data)
            elif self._dtype is not None:  # it may have been cast in the meantime
                data = data.astype(self._dtype, copy=False)
            self._init_impl(data, deferred.ctx)

    def _init_impl(self, data: NDArray, contexts: Sequence[Context]) -> None:
        first = data.as_in_context(contexts[0]) if contexts else data
        self._adopt(replicate([data.copyto(c) if i else first for i, c in enumerate(contexts)]))

    def _adopt(
        self,
        arrays: list[NDArray],
        grads: list[NDArray] | None = None,
        request: str | None = None,
        **changes: Any,
    ) -> None:
        """Adopts arrays, gradients (by default zeros) and other attributes: all, or none."""
        request = self._grad_req if request is None else request
        arrays = as_new_arrays(arrays)
        entries: list[Any] = []
        if request == "null":
            grads = None
        else:
            entries = self._variables(arrays, grads, request)
            grads = as_new_arrays([entry.grad for entry in entries])
            for entry, grad in zip(entries, grads, strict=True):
                entry.grad = grad
        changes |= {"_data": arrays, "_grad": grads, "_grad_req": request, "_deferred_init": None}

        def adopt() -> None:
            for x, entry in zip(arrays, entries, strict=False):
                x.graph_entry = entry
            vars(self).update(changes)

        complete(adopt)

    def _variables(
        self, arrays: Sequence[NDArray], grads: Sequence[NDArray] | None, request: str
    ) -> list[Any]:
        if grads is not None:
            name = f"parameter {self.name!r}"
            pairs = zip(arrays, grads, strict=True)
            return [new_variable(name, x, grad, request) for x, grad in pairs]
        if replicated(arrays):
            contexts, first = [x.context for x in arrays], arrays[0]
            zeros = ReplicatedArray(contexts, first.shape, first.storage.dtype)
            return self._variables(arrays, list(zeros), request)
        shown = [x.detach() for x in arrays]
        for x in shown:
            x.attach_grad(request)
        return [x.graph_entry for x in shown]

    # Contents

    def data(self, ctx: Context | None = None) -> NDArray:
        """Returns the array on ``ctx``; by default the only array, or the current context's. Raises
        DeferredInitializationError while the parameter waits for its shape, RuntimeError
        (MXNetError) if it was not initialized, or not on this context."""
        arrays = self._data
        if arrays is not None and len(arrays) == 1:  # every call of a layer comes here
            (array,) = arrays
            if ctx is None or ctx is array.context or ctx == array.context:
                return array
        return self._check_and_get(arrays, ctx)

    def list_data(self) -> list[NDArray]:
        """Returns the arrays in the order of the contexts."""
        return self._check_and_get(self._data, list)

    def grad(self, ctx: Context | None = None) -> NDArray:
        """Returns the gradient of :meth:`data`. Raises RuntimeError (MXNetError) without one."""
        self._check_has_gradient()
        return self._check_and_get(self._grad, ctx)

    def list_grad(self) -> list[NDArray]:
        """Returns the gradients in the order of the contexts."""
        self._check_has_gradient()
        return self._check_and_get(self._grad, list)

    def _check_has_gradient(self) -> None:
        if self._data is not None and self._grad is None:
            problem = "it has no gradient, because its grad_req is 'null'"
            raise MXNetError(f"parameter {self.name!r}", problem)

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Any) -> Any:
        if arrays is not None:
            if ctx is list:
                return arrays
            if ctx is None:
                if len(arrays) == 1:
                    return arrays[0]
                ctx = current_context()
            for x in arrays:
                if x.context == ctx:
                    return x
            if ctx.device_typeid in HOST_TYPES:  # cpu_shared(0) is another name of cpu(0)
                for x in arrays:
                    if x.context == Context("cpu", ctx.device_id):
                        return x
            problem = f"it is not on context {ctx}, but on {[x.context for x in arrays]}"
            raise MXNetError(f"parameter {self.name!r}", problem)
        if self._deferred_init is not None:
            raise DeferredInitializationError(
                f"parameter {self.name!r}",
                f"it has not been initialized yet, because its shape {self.shape} is not known",
                hint="call the network with a batch first, or give in_units, in_channels, ...",
            )
        hint = "net.initialize(); a Trainer takes net.collect_params(), which includes children"
        raise MXNetError(f"parameter {self.name!r}", "it has not been initialized", hint=hint)

    def list_ctx(self) -> list[Context]:
        """Returns the contexts, also while the parameter waits for its shape. Raises RuntimeError
        (MXNetError) if it was not initialized."""
        if self._data is not None:
            return [x.context for x in self._data]
        if self._deferred_init is not None:
            return list(self._deferred_init.ctx)
        problem = "it has not been initialized"
        raise MXNetError(f"parameter {self.name!r}", problem, hint="initialize()")

    # Libraries read these two, and assign them to copies, where they follow from the arrays.

    @property
    def _ctx_list(self) -> list[Context] | None:
        return None if self._data is None else self.list_ctx()

    @_ctx_list.setter
    def _ctx_list(self, contexts: Any) -> None:
        pass

    @property
    def _ctx_map(self) -> list[list[int | None]] | None:
        if self._data is None:
            return None
        places: list[list[int | None]] = [[], []]
        for i, context in enumerate(self.list_ctx()):
            places_of_kind = places[context.device_typeid & 1]
            places_of_kind += [None] * (context.device_id + 1 - len(places_of_kind))
            places_of_kind[context.device_id] = i
        return places

    @_ctx_map.setter
    def _ctx_map(self, places: Any) -> None:
        pass

    def set_data(self, data: Any) -> None:
        """Writes an array's elements, converted to the parameter's dtype, to all contexts. A
        parameter that waits for its shape takes the array's shape, and its contents later (MXNet:
        in the dtype of ``data``). Raises AssertionError: ParameterShapeError for another shape,
        UnknownNameError if it was not initialized."""
        if not isinstance(data, NDArray | np.ndarray | jax.Array):
            problem = f"{type(data).__name__} given, expected an NDArray or NumPy array"
            raise InputTypeError(f"parameter {self.name!r}: set_data", problem)
        shape = self._filled_shape(tuple(data.shape))
        if self._data is not None:
            complete(partial(self._write, data))
        elif self._deferred_init is not None:
            contents = modes.run(False, False, partial(array, data, dtype=self._dtype, ctx=cpu()))
            self._deferred_init = self._deferred_init._replace(data=contents)
        else:
            problem = "it has not been initialized"
            raise UnknownNameError(f"parameter {self.name!r}", problem, hint="initialize()")
        self._shape = shape

    def _write(self, data: Any) -> None:
        for x in self._data or ():
            x[:] = data
        if self._trainer is not None:
            self._trainer.parameter_is_set()

    def zero_grad(self) -> None:
        """Sets the gradients to zero."""

        def write() -> None:
            for grad in self._grad or ():
                grad[:] = 0

        complete(write)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """Returns all rows of :meth:`data` on the context of ``row_id``. Raises RuntimeError
        (MXNetError) unless ``stype`` is 'row_sparse'."""
        self.list_row_sparse_data(row_id)
        return self.data(row_id.context)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """Returns :meth:`list_data`; RuntimeError (MXNetError) unless ``stype`` is 'row_sparse'."""
        if self._stype != "row_sparse":
            problem = f"its storage type is {self._stype!r}"
            raise MXNetError(f"parameter {self.name!r}", problem, hint="data(), list_data()")
        return self.list_data()

    def _reduce(self) -> NDArray:
        arrays = self.list_data()

        def mean() -> NDArray:
            copies = [x.copyto(cpu()) for x in arrays]
            return copies[0] if len(copies) == 1 else add_n(*copies) / len(copies)

        return modes.run(False, False, mean)

    # Changes

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Moves the parameter to other contexts, with the mean of its arrays and new gradients.
        Raises ValueError (ArgumentValueError) if it was not initialized."""
        contexts = _context_list(ctx)
        self._check_has_contexts()
        if self._data is not None:
            modes.run(False, False, partial(self._init_impl, self._reduce(), contexts))
        elif self._deferred_init is not None:
            self._deferred_init = self._deferred_init._replace(ctx=contexts)

    def _check_has_contexts(self) -> None:
        if self._data is None and self._deferred_init is None:
            problem = "it is on no context, because it has not been initialized"
            raise ArgumentValueError(f"parameter {self.name!r}", problem, hint="initialize(ctx=)")

    def cast(self, dtype: DType) -> None:
        """Converts arrays and gradients to another dtype. Raises TypeError for an unknown one."""
        numpy_dtype_name(dtype)
        if self._data is not None:
            modes.run(False, False, partial(self._convert, dtype))
        else:
            self._dtype = dtype

    def _convert(self, dtype: DType) -> None:
        arrays = replicate([x.astype(dtype) for x in self._data or ()])
        grads = self._grad and replicate([x.astype(dtype) for x in self._grad])
        self._adopt(arrays, grads, _dtype=dtype)

    def var(self) -> Symbol:
        """Returns the variable that stands for the parameter in symbols, always the same object,
        with the attributes of the parameter at the first call."""
        if self._var is not None:
            return self._var
        factors = {"lr_mult": self.lr_mult, "wd_mult": self.wd_mult}
        options = {"dtype": self._dtype, "init": self.init, "stype": self._stype, **factors}
        variable: Symbol = var(self.name, shape=self.shape, **options)
        if numpy_arrays():
            variable = variable.as_np_ndarray()
        self._var = variable
        return variable

    # Loading, trainers

    def _load_init(
        self, data: Any, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current"
    ) -> None:
        self._load_plan(data, ctx, cast_dtype, dtype_source)()

    def _load_plan(
        self, data: Any, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current"
    ) -> Callable[[], None]:
        """Checks an array as :meth:`ParameterDict.load_dict`; returns a function to store it."""
        where = f"parameter {self.name!r}"
        if cast_dtype and dtype_source not in ("current", "saved"):
            problem = f"dtype_source={dtype_source!r}, expected 'current' or 'saved'"
            raise ArgumentValueError(where, problem)
        if self._shape and not self._agrees(data.shape):
            problem = f"the shape in the file is {data.shape}, expected {self.shape}"
            raise ArgumentValueError(where, problem)
        new_dtype = self._dtype
        saved = numpy_dtype_name(data.dtype)
        if self._dtype is not None and numpy_dtype_name(self._dtype) != saved:
            if not cast_dtype:
                expected = numpy_dtype_name(self._dtype)
                problem = f"the dtype in the file is {saved}, expected {expected}"
                raise ArgumentValueError(where, problem, hint="cast_dtype=True")
            if dtype_source == "saved":
                new_dtype = data.dtype
        contexts = None if ctx is None else _context_list(ctx)
        if self._data is not None or self._deferred_init is not None:
            present = self.list_ctx()
            if contexts is not None and {*contexts} != {*present}:
                problem = f"it cannot be loaded on {contexts}, because it is on {present}"
                raise ArgumentValueError(where, problem)
            contexts = present
        return partial(self._load_now, data, contexts or [cpu()], new_dtype)

    def _load_now(self, data: Any, contexts: list[Context], dtype: DType) -> None:
        if dtype is not self._dtype:
            self.cast(dtype)
        self._shape = tuple(data.shape)
        if self._data is not None:
            self.set_data(data)
        else:
            contents = partial(array, data, dtype=self._dtype, ctx=contexts[0])
            modes.run(False, False, lambda: self._init_impl(contents(), contexts))

    def _set_trainer(self, trainer: Any) -> None:
        others = trainer is not None and self._trainer not in (None, trainer)
        if others and self._stype != "default":
            problem = f"its storage type is {self._stype!r}, and another Trainer has it already"
            raise MXNetError(f"parameter {self.name!r}", problem)
        self._trainer = trainer


class ConstantValue(initializer.Initializer):
    """Initializer of a constant. A symbol holds the value as text, but only the name of a large
    value (MXNet: of every value)."""

    def __init__(self, name: str, value: NDArray) -> None:
        super().__init__(name=name)
        self._value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self._value

    def dumps(self) -> str:
        if self._value.size <= _MAX_TOLD:
            return initializer.Constant(self._value).dumps()
        return f"Constant_{self._kwargs['name']}"


class Constant(Parameter):
    """A parameter that is not learned, with a value: an NDArray, or an argument of ``mx.nd.array``.
    It is saved and loaded like others. Its ``grad_req`` stays 'null', with a warning.

    >>> import executorkit as mx
    >>> constant = mx.gluon.Constant("scale", [1, 2])
    >>> constant.initialize()
    >>> constant.data().asnumpy().tolist(), constant.grad_req
    ([1.0, 2.0], 'null')
    """

    def __init__(self, name: str, value: Any) -> None:
        (self.value,) = [value] if isinstance(value, NDArray) else as_new_arrays([array(value)])
        init = ConstantValue(name, self.value)
        super().__init__(name, "null", self.value.shape, dtype=self.value.dtype, init=init)

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            text = f"the grad_req of constant {self.name!r} is 'null'; {req!r} is ignored"
            warnings.warn(text, UserWarning, stacklevel=2)


def _check_request(name: str, req: str) -> None:
    if req not in REQUESTS:
        problem = f"grad_req is {req!r}, expected {', '.join(map(repr, REQUESTS))}"
        raise ArgumentValueError(f"parameter {name!r}", problem)


def shape_lengths(shape: Any) -> tuple[int, ...]:
    shape = shape.tolist() if isinstance(shape, np.ndarray) else shape
    lengths = shape if isinstance(shape, Sequence) else (shape,)
    return tuple(max(operator.index(d), 0) for d in lengths)


def _context_list(ctx: Context | Sequence[Context] | None) -> list[Context]:
    if ctx is None:
        return [current_context()]
    contexts = [ctx] if isinstance(ctx, Context) else list(ctx)
    for context in contexts:
        if not isinstance(context, Context):
            raise InputTypeError("ctx", f"{context!r} is not a context", hint="mx.cpu()")
    return contexts
