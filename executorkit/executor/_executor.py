"""The Executor: arrays bound to a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import MXNetError, explain
from ..ndarray import NDArray
from ..program import Precompilation
from ._arguments import parse_is_train, type_phrase
from ._bound import Bound
from ._heads import check_head_gradients, head_gradients
from ._inspection import Inspection
from ._run import PendingStep


class Executor(Bound, Inspection):
    """A symbol bound to arrays: runs it forwards and backwards as compiled XLA programs.

    Made by ``Symbol.bind`` and ``Symbol.simple_bind``. Execution is deferred: ``forward`` takes a
    snapshot of its inputs and promises its outputs; ``backward`` before anyone has looked at them
    runs one program that does both. An argument that is overwritten between ``forward`` and
    ``backward`` does not change the gradients (in MXNet it does).

    arg_arrays, aux_arrays
        the NDArrays of ``list_arguments()`` and ``list_auxiliary_states()``; the user's own.
    grad_arrays
        NDArrays that ``backward`` writes to, None where no gradient is wanted; None altogether if
        ``bind`` was given no ``args_grad``.
    outputs
        NDArrays of ``list_outputs()``. They keep their identity: one held over the next ``forward``
        shows the new value.

    A notebook shows all of them with their statistics, computed where they are. What is promised
    and not computed yet is not computed for that.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> executor = net.simple_bind(mx.cpu(), data=(2, 4))
    >>> executor.arg_dict["fc_weight"][:] = 0.5
    >>> (output,) = executor.forward(is_train=True, data=mx.nd.ones((2, 4)))
    >>> output.asnumpy().tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    >>> executor.backward(mx.nd.ones((2, 3)))
    >>> executor.grad_dict["fc_bias"].asnumpy().tolist()
    [2.0, 2.0, 2.0]
    """

    # -- running -------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Runs the symbol on the bound arrays; returns ``outputs``.

        is_train
            whether training behaviour is asked for (Dropout, batch statistics) and ``backward``
            is expected to follow.
        kwargs
            new contents of arguments: NDArrays or NumPy arrays of the bound shapes, converted to
            the bound dtypes.

        Raises TypeError for an unknown name, ValueError for a wrong shape or type; no array is
        changed then.
        """
        if kwargs:
            self.feed(kwargs)
        constant_inputs = self._program.constant_inputs
        if constant_inputs:
            self._pin(constant_inputs)
        self._run = run = PendingStep(
            self, is_train if is_train.__class__ is bool else parse_is_train(is_train)
        )
        if self._callback is not None:
            from ._monitor import observe_forward

            observe_forward(self, run, self._callback, self._monitor_all)
        elif self._eager:
            run.force()
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the arguments and writes or adds them to ``grad_arrays``.

        out_grads
            head gradients: an NDArray, a list, or a dict by output name; not needed for outputs
            of loss operators.
        is_train
            accepted for MXNet's sake; the mode is that of the ``forward`` it belongs to.

        Auxiliary states such as BatchNorm's moving averages change here, once per call. May be
        called again for the same ``forward``. Raises MXNetError if a head gradient is missing or
        misshapen, or if there was no ``forward``.
        """
        run = self._run
        if run is None:
            raise MXNetError(
                explain(
                    "backward",
                    "there was no forward to go back through",
                    hint="call forward(is_train=True) first",
                )
            )
        names, program = self._output_names, self._program
        heads = self._no_heads
        if out_grads is not None:
            heads = head_gradients(out_grads, self.outputs, names)
        needed = program.may_need_head_gradient
        if True in needed and any(n and h is None for n, h in zip(needed, heads, strict=True)):
            check_head_gradients(
                heads, names, program.needs_head_gradient(run.args, run.aux, run.key)
            )
        run.backward(heads)
        if self._callback is not None:
            from ._monitor import observe_backward

            observe_backward(self, run, heads, self._callback)

    def compile(self, is_train: bool = False, backward: bool | None = None) -> Executor:
        """Compiles ahead what ``forward`` (and ``backward``) will run; returns self.

        ``backward`` defaults to ``is_train`` with gradients bound. Nothing is executed.
        """
        from ._ahead import PrecompileSpec, bound_avals

        for function, avals in PrecompileSpec(is_train, backward).calls(self, *bound_avals(self)):
            function.compile(*avals)
        return self

    def precompile(
        self,
        shapes: Sequence[Mapping[str, Sequence[int]]],
        is_train: bool = False,
        backward: bool | None = None,
    ) -> Precompilation:
        """Compiles ahead, in the background, what :meth:`reshape` to other shapes will run.

            warming = executor.warm([{"data": (1, 3, s, s)} for s in (224, 256, 288)])

        shapes
            for each of them what ``reshape`` is given; a shape that is bound already may be one.
        is_train, backward
            as in :meth:`compile`. Where a step of training has run already that ended in an
            update, it is that step which is compiled for the new shapes.

        Returns at once. ``wait()`` of the result waits for all of them and raises the first error,
        ``done`` and ``errors`` tell how it stands. An executor of one of these shapes compiles
        nothing more; one that is run before its turn has come waits for its own compilation only.
        Several compile at a time. Of one function 128 shapes stay compiled; one more empties that.

        Raises as ``reshape`` does for what is no argument, no shape, or does not fit the symbol,
        and MXNetError for symbols with Python operators, whose executors share no programs.
        """
        from ._ahead import PrecompileSpec, precompile

        return precompile(self, shapes, PrecompileSpec(is_train, backward))

    # -- variants and views --------------------------------------------------------------------

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Sequence[int]
    ) -> Executor:
        """An executor of the same symbol for other input shapes, sharing this one's memory.

        Arrays that shrink are views of the first elements of this executor's; both see writes.
        The program is shared: a shape seen before compiles nothing.

        partial_shaping
            allows arguments that are not named in ``kwargs`` to change their shape too.
        allow_up_sizing
            allows arrays to grow; those are new, filled with zeros (in MXNet: uninitialised).
        """
        from ._reshape import reshape

        return reshape(self, partial_shaping, allow_up_sizing, kwargs)

    def set_monitor_callback(
        self, callback: Callable[..., Any] | None, monitor_all: bool = False
    ) -> None:
        """Calls ``callback(name, NDArray)`` for every operator's outputs during ``forward``, and
        for the gradients of every operator's inputs (``fc_backward_output0``) during ``backward``.

        ``monitor_all`` adds the inputs, as ``fc_data``, and variables by their own name. While a
        callback is set, ``forward`` runs at once, as a program that returns every value. The
        callback gets an NDArray (in MXNet: a raw handle). None removes it.
        """
        if callback is not None and not callable(callback):
            problem = f"{type_phrase(callback)}, expected a function of a name and an NDArray"
            raise TypeError(explain("set_monitor_callback", problem))
        self._callback = callback
        self._monitor_all = monitor_all
