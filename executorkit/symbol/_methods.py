"""What a symbol offers beyond its graph: inference, binding, summaries.

Lowering and the executor stand above this package; they are imported when they are called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from ..context import Context, current_context
from ..errors import MXNetError, explain
from ..ops._namespace import numpy_dtype_name

if TYPE_CHECKING:
    from ..executor import Executor
    from ..ndarray import NDArray
    from ._symbol import Symbol

Shape = tuple[int, ...]


class GraphMethods:
    """Shapes and types of a graph, and ways to run it."""

    __slots__ = ()

    if TYPE_CHECKING:
        list_arguments: Callable[[], list[str]]
        list_outputs: Callable[[], list[str]]
        list_auxiliary_states: Callable[[], list[str]]
        list_inputs: Callable[[], list[str]]

    def infer_shape(self, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
        """Shapes of arguments, outputs and auxiliary states, from the shapes of some inputs.

        Shapes are given by name, or by position in the order of ``list_arguments`` (None for
        unknown); a 0 in a shape is an unknown dimension. Returns three lists of shapes, or three
        times None, with a warning that names what is unknown, if they do not follow. Raises
        :class:`ShapeError` for a contradiction and :class:`MXNetError` for an unknown name.

        >>> import executorkit as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        >>> net.infer_shape(data=(32, 10))
        ([(32, 10), (3, 10), (3,)], [(32, 3)], [])
        """
        known = self._known_shapes(args, kwargs)
        result = self._infer_shapes(known)
        return self._complete(result, "shapes", lambda s: not s or 0 in s)

    def infer_shape_partial(self, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
        """As :meth:`infer_shape`, but returns what is known: () for an unknown shape, 0 for an
        unknown dimension."""
        found = self._infer_shapes(self._known_shapes(args, kwargs))
        arguments, outputs, states = ([() if s is None else s for s in part] for part in found)
        return arguments, outputs, states

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Element types of arguments, outputs and auxiliary states, as NumPy scalar classes.

        Types are given by name or by position, as anything that NumPy takes for a dtype. Returns
        three times None, with a warning, if they do not follow. Raises :class:`DTypeError` for a
        contradiction and :class:`MXNetError` for an unknown name.
        """
        result = self._infer_types(self._known_types(args, kwargs))
        return self._complete(result, "types", lambda t: t is None)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As :meth:`infer_type`, but returns what is known: None for an unknown type."""
        return self._infer_types(self._known_types(args, kwargs))

    def summary(self, type_dict: Mapping[str, Any] | None = None, **shapes: Sequence[int]) -> Any:
        """What every layer makes, holds and computes: shapes, parameters, FLOPs and bytes.

        Shapes, and types in ``type_dict``, are given by name, those of the inputs usually; what
        does not follow from them is shown as "?". Returns a :class:`~executorkit.lowering.Summary`,
        which is a table when it is printed and in a notebook, and has the numbers: ``parameters``,
        ``parameter_bytes``, ``output_bytes``, ``flops``, ``macs``, and its items, the layers.

        FLOPs are those of one forward pass at inference, before XLA fuses anything: two for each
        product of a convolution (those with its padding too) or of matrices, one for each other
        element computed. Nothing is compiled. Raises :class:`ShapeError` for a contradiction and
        :class:`MXNetError` for an unknown name. MXNet has no such method; see
        ``mx.viz.print_summary`` for its table.

        >>> import executorkit as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
        >>> net.summary(data=(32, 784))
        Symbol fc: 1 operator
        inputs: data (32, 784)
        layer  operator        output shape  parameters  FLOPs    output
        -----  --------------  ------------  ----------  -----  --------
        fc     FullyConnected  (32, 10)           7,850  502 k  1.25 KiB
        -----  --------------  ------------  ----------  -----  --------
        sum                                       7,850  502 k  1.25 KiB
        parameters: 7,850, together 30.7 KiB
        one forward pass: 502 kFLOPs, with 251 kMACs in convolutions and matrix products
        """
        from ..lowering import Summary

        known = {name: tuple(sizes) for name, sizes in shapes.items()}
        types = self._known_types((), type_dict or {})
        return Summary.of(self, self._known_shapes((), known), types)

    def _infer_shapes(self, known: dict[str, Shape]) -> tuple[Any, Any, Any]:
        from ..lowering import infer_shapes

        return infer_shapes(self, known)

    def _infer_types(self, known: dict[str, str]) -> tuple[Any, Any, Any]:
        from ..lowering import infer_types

        found = infer_types(self, known)
        arguments, outputs, states = (
            [None if t is None else np.dtype(t).type for t in part] for part in found
        )
        return arguments, outputs, states

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if args and kwargs:
            raise ValueError("give shapes or types by position or by name, not both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise TypeError(f"{len(args)} given, but there are {len(names)} arguments")
        inputs = self.list_inputs()
        for name in kwargs:
            if name not in inputs:
                hint = f"one of: {', '.join(inputs)}"
                raise MXNetError(explain(f"{self!r}", f"there is no argument {name!r}", hint=hint))
        by_position = zip(names, args, strict=False)
        return {name: value for name, value in by_position if value is not None} | dict(kwargs)

    def _known_shapes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Shape]:
        given = self._given(args, kwargs)
        for name, shape in given.items():
            if not isinstance(shape, tuple):
                raise TypeError(f"shape of {name!r} is {shape!r}, expected a tuple")
        return {name: tuple(int(d) for d in shape) for name, shape in given.items()}

    def _known_types(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, str]:
        return {name: numpy_dtype_name(t) for name, t in self._given(args, kwargs).items()}

    def _complete(
        self, found: tuple[Any, Any, Any], what: str, unknown: Callable[[Any], bool]
    ) -> tuple[Any, Any, Any]:
        names = (self.list_arguments(), self.list_outputs(), self.list_auxiliary_states())
        missing = [
            [n for n, value in zip(part, values, strict=True) if unknown(value)]
            for part, values in zip(names, found, strict=True)
        ]
        if not any(missing):
            return found
        first = missing[0] or missing[2] or missing[1]
        warnings.warn(f"{what} do not follow for {', '.join(first)}; give them", stacklevel=3)
        return None, None, None

    def bind(
        self,
        ctx: Context,
        args: Any,
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Any = None,
        shared_exec: Any = None,
        compute_dtype: str | None = None,
        remat: Any = None,
    ) -> Executor:
        """An executor of this graph over arrays of the caller's; see :class:`executorkit.Executor`.

        ctx
            the device that it runs on.
        args, aux_states
            NDArrays of all arguments and auxiliary states, a list in the order of
            ``list_arguments()`` and ``list_auxiliary_states()``, or a dict by name. They are the
            executor's own from then on: what is written to them is what it reads.
        args_grad
            NDArrays that gradients are written to, in the same form, None for none. Those that a
            dict does not have, or that are None, are not computed.
        grad_req
            'write', 'add' or 'null', or a list or dict of these by argument.
        group2ctx
            contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
        shared_exec
            accepted; executors of equal graphs share their programs anyway.
        compute_dtype, remat
            precision, and what is computed again for backward, as for :meth:`simple_bind`.

        Raises ValueError for a missing array or one that does not fit (ShapeError, which names the
        node), TypeError for something that is no NDArray. Nothing is compiled until it runs.

        >>> import executorkit as mx
        >>> x, grad = mx.nd.array([1, 2, 3]), mx.nd.zeros((3,))
        >>> executor = (mx.sym.Variable("x") ** 2).bind(mx.cpu(), [x], [grad])
        >>> executor.forward(is_train=True)[0].asnumpy().tolist()
        [1.0, 4.0, 9.0]
        >>> executor.backward(mx.nd.ones((3,)))
        >>> grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]
        """
        from ..executor import bind

        return bind(
            cast("Symbol", self), ctx, args, args_grad, grad_req, aux_states, group2ctx,
            shared_exec, compute_dtype, remat,
        )  # fmt: skip

    def simple_bind(
        self,
        ctx: Context,
        grad_req: Any = "write",
        type_dict: Any = None,
        stype_dict: Any = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        compute_dtype: Any = None,
        remat: Any = None,
        **kwargs: Any,
    ) -> Executor:
        """An executor of this graph over arrays that it makes, from the shapes of some inputs.

        ctx
            the device that it runs on.
        grad_req
            'write', 'add' or 'null', or a list or dict of these by argument. Gradients are made for
            every argument that it is not 'null' for, data too.
        type_dict
            types of arguments by name; float32 where nothing follows.
        stype_dict
            storage types by name: only 'default' is served.
        group2ctx
            contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
        shared_arg_names, shared_exec, shared_buffer
            arguments whose arrays are taken from another executor, that executor, and a dict of
            arrays by name to take others from, where they fit, and to add new ones to.
        compute_dtype
            'bfloat16' or 'float16': float32 arrays are cast to it inside the program; the bound
            ones stay as they are, so that weights are master weights. Default: as bound.
        remat
            what backward computes again instead of keeping it: 'mirror' (all but convolutions and
            products of matrices), 'full' (all but what crosses between segments of the graph, about
            as many as each has operators), or a policy of ``jax.checkpoint_policies``.
            ``executor.program.memory()`` tells what that saves: the temporaries of a training step
            of ResNet-50 on 8 images of 64x64 are 166 MiB without, 137 MiB and 77 MiB.
        kwargs
            shapes of arguments by name.

        Without ``compute_dtype`` and ``remat``, which MXNet does not have, it is as
        ``mx.program.options`` says; see :class:`executorkit.program.Options`.

        Arrays are filled with zeros. Raises RuntimeError if shapes do not follow, naming what is
        missing, and :class:`ShapeError` for a contradiction, naming the node.

        >>> import executorkit as mx
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        >>> executor = net.simple_bind(mx.cpu(), data=(2, 4))
        >>> {name: array.shape for name, array in executor.arg_dict.items()}
        {'data': (2, 4), 'fc_weight': (3, 4), 'fc_bias': (3,)}
        """
        from ..executor import simple_bind

        return simple_bind(
            cast("Symbol", self), ctx, grad_req, type_dict, stype_dict, group2ctx,
            shared_arg_names, shared_exec, shared_buffer, kwargs, compute_dtype, remat,
        )  # fmt: skip

    def eval(self, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
        """The outputs for the given arrays, which are bound to it and run once.

        >>> import executorkit as mx
        >>> (mx.sym.Variable("a") + 1).eval(a=mx.nd.array([1, 2]))[0].asnumpy().tolist()
        [2.0, 3.0]
        """
        return self.bind(current_context() if ctx is None else ctx, kwargs).forward()

    def to_jax(self) -> Any:
        """This graph as a pure JAX function; see :func:`executorkit.lowering.to_jax`.

        >>> import jax
        >>> import executorkit as mx
        >>> function = (mx.sym.Variable("x") ** 2).to_jax()
        >>> gradient = jax.grad(lambda x: function({"x": x})[0][0])
        >>> float(gradient(3.0))
        6.0
        """
        from ..lowering import to_jax

        return to_jax(self)

    def gradient(self, wrt: Sequence[str]) -> NoReturn:
        """MXNet declares this and does not implement it; neither is it here."""
        hint = "bind the symbol and call backward, or use jax.grad on to_jax()"
        raise MXNetError(explain(f"{self!r}", "gradient is not implemented", hint=hint))
