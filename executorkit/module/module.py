"""``Module``: a symbol, bound to devices, with parameters and an optimizer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ..context import Context, cpu
from ..errors import ModuleUsageError, explain
from ..executor._report import FiniteReport
from ..program import Precompilation
from ..symbol import Symbol
from ._binding import concatenated_batches
from ._checkpoint import Checkpointed
from ._usage import check_input_names, require

__all__ = ["Module"]


class Module(Checkpointed):
    """A symbol that can be trained, on one device or several.

    symbol
        the network.
    data_names, label_names, state_names
        which of its arguments are inputs, labels, and states that are carried from batch to batch
        (``get_states``, ``set_states``); all others are parameters.
    logger
        where ``fit`` reports.
    context
        a device or a list of them; each gets its slice of every batch.
    work_load_list
        the devices' shares of a batch; equal by default.
    fixed_param_names
        parameters that are not trained.
    group2ctxs
        devices of ``ctx_group`` attributes, as the executor group takes them.
    compression_params
        accepted; gradients are not compressed.
    compute_dtype, remat
        precision of the computation, and what backward computes again instead of keeping it, as
        for ``simple_bind``; MXNet has neither.

    Raises ValueError for names that the symbol does not have (a warning for labels), AssertionError
    for another number of workloads than of devices.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> x = mx.nd.array([[0, 1], [1, 0], [0, 2], [2, 0]])
    >>> batches = mx.io.NDArrayIter(x, mx.nd.array([0, 1, 0, 1]), batch_size=2)
    >>> module.fit(batches, num_epoch=20, optimizer_params={"learning_rate": 0.5})
    >>> module.score(batches, "acc")
    [('accuracy', 1.0)]
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Context | Sequence[Context] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        compute_dtype: str | None = None,
        remat: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        context = cpu() if context is None else context
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            problem = f"{len(self._work_load_list)} of them for {len(self._context)} contexts"
            raise ModuleUsageError(explain("Module: work_load_list", problem))
        self._group2ctxs = group2ctxs
        self._compute_dtype = compute_dtype
        self._remat = remat
        self._compression_params = compression_params
        self._symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        check_input_names(symbol, self._data_names, "data", True)
        check_input_names(symbol, self._label_names, "label", False)
        check_input_names(symbol, self._state_names, "state", True)
        check_input_names(symbol, self._fixed_param_names, "fixed_param", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params = None
        self._aux_params = None
        self._params_dirty = False
        self._optimizer = None
        self._kvstore = None
        self._update_on_kvstore = False
        self._updater = None
        self._indices = {}
        self._preload_opt_states = None

    # Descriptions

    @property
    def data_names(self) -> list[str]:
        """Names of the inputs."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[Any]:
        """DataDescs of the inputs. AssertionError unless bound, here and below."""
        require(self, "data_shapes", "binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """DataDescs of the labels; None if bound without."""
        require(self, "label_shapes", "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of the outputs for the whole batch."""
        require(self, "output_shapes", "binded")
        return self._exec_group.get_output_shapes()

    # Running

    def precompile(self, shapes: Sequence[Any], is_train: bool | None = None) -> Precompilation:
        """Compiles ahead, in the background, for batches of other shapes.

        shapes
            for each of them (data_shapes, label_shapes), as :meth:`bind` takes them.
        is_train
            whether training steps are compiled, which ``bind``, by default, says. A step with its
            update is one program, known once one has run: warm up after the first ``update``.

        Returns at once; see :meth:`Executor.precompile` for what the result tells. A batch of one of
        these shapes compiles nothing more, or waits for its own compilation only. Raises
        AssertionError unless bound, ValueError for shapes that do not fit the symbol.
        """
        require(self, "warm", "binded")
        return self._exec_group.precompile(
            shapes, self.for_training if is_train is None else is_train
        )

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs, when they are looked at.

        data_batch
            a batch, or a list of batches of one shape, one for each device. Other shapes than bound
            rebind the module, as its ``provide_data`` and ``provide_label`` say if it has them.
        is_train
            by default, whether the module is bound for training.

        Raises AssertionError unless bound and initialised, ValueError for labels that do not fit,
        and for missing ones when training; nothing is changed then.
        """
        require(self, "forward", "binded", "params_initialized")
        batch = concatenated_batches(data_batch) if isinstance(data_batch, list) else data_batch
        train = self.for_training if is_train is None else bool(is_train)
        self._fit_to(batch, train)
        self._exec_group.forward(batch, train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients; ``out_grads`` are head gradients for outputs of no loss.

        AssertionError for a module that is bound for inference.
        """
        require(self, "backward", "binded", "params_initialized")
        self._exec_group.backward(out_grads=out_grads)

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity in the last batch; see the group's.

        AssertionError unless bound and initialised.
        """
        require(self, "check_finite", "binded", "params_initialized")
        return self._exec_group.check_finite(out_grads, raise_error=raise_error)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward, of whole batches; or a list per output with one NDArray for
        each device."""
        require(self, "get_outputs", "binded", "params_initialized")
        return self._exec_group.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the inputs, merged or not as in :meth:`get_outputs`. AssertionError unless
        bound with ``inputs_need_grad``."""
        require(self, "get_input_grads", "binded", "params_initialized")
        return self._exec_group.get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """For each state a list with one NDArray for each device; AssertionError if they are to be
        merged."""
        require(self, "get_states", "binded", "params_initialized")
        return self._exec_group.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states: to arrays as :meth:`get_states` gives them (outputs, say, unmerged), or
        all elements to one number. AssertionError unless exactly one is given."""
        require(self, "set_states", "binded", "params_initialized")
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric take the last outputs into account, device by device.

        ``pre_sliced`` says that ``labels`` has a list of labels for each device.
        """
        require(self, "update_metric", "binded")
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at the executors of all devices."""
        require(self, "install_monitor", "binded")
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Nothing has to be done before a batch: parameters are dense. ``sparse_row_id_fn`` is not
        called, of which MXNet warns only for modules without store."""
        require(self, "prepare", "binded")
        super().prepare(data_batch, sparse_row_id_fn)
