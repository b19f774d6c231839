"""``Step``: forward, backward, the sum over devices and an optax update as one program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from .. import optimizer as opt
from ..display import View, Viewed
from ..errors import StepError, explain
from ..executor._validation import check_head_gradients
from ..ndarray import NDArray
from ..program import Analysis
from ..program._jit import InstrumentedJit
from ..program._program_options import options_from_arguments
from ..program._train_step import StepSpec, UpdateSpec
from ._batch_feeder import BatchFeeder
from ._optax_updates import LossScale, LossScaledUpdate, OptaxUpdate
from ._step_arguments import build_transformation, parameter_indices, reject_options
from ._step_files import read_state, write_state


class Step(Viewed):
    """One training step as one compiled, donated program.

        step = mx.training.Step(executor, optax.adam(1e-3))
        for batch in iterator:
            (out,) = step(data=batch.data[0], softmax_label=batch.label[0])

    The program computes forward and backward, sums the gradients over the devices of a group,
    updates the parameters and the optimizer's state in place, and changes auxiliary states as
    ``backward`` does. Outputs come back at once and are computed meanwhile. Parameters are those of
    the executor: they can be read, saved and written between steps.

    target
        an Executor; or what runs on several devices: a bound module, an executor group, or a
        manager. Slices of different lengths and repeated contexts take a program for each slice and
        one for the update, with the same results; nothing is donated then.
    optimizer
        any ``optax.GradientTransformation`` (it sees a dict of parameters by name), or one of
        MXNet's optimizers, as an instance or a name.
    inputs
        arguments that are no parameters. By default those without gradient, those that the group
        loads, and those that are called ``...data`` or ``...label``.
    out_grads
        head gradients of outputs that are no losses, as ``backward`` takes them.
    rescale_grad
        multiplies the gradients. Losses of symbols sum over the rows of a batch unless they are
        normalised: ``1 / batch size`` then makes a mean of it, whatever the number of devices,
        over which gradients are summed. For optax only; MXNet's optimizers have their own.
    clip_global_norm
        limits the norm of all gradients together (``optax.clip_by_global_norm``).
    accumulate
        so many calls are one update, by the mean of their gradients (``optax.MultiSteps``).
    loss_scale
        multiplies losses, for float16: a :class:`LossScale`, or a number for a constant one.
    compute_dtype, remat
        precision of the computation, and what backward computes again instead of keeping it; see
        ``mx.program.Options``. By default what :func:`mx.program.options` says, or, outside of
        such a context, what the target was bound with. :meth:`analyse` tells what that saves.

    Raises TypeError for a target that cannot run as one program, ValueError if there is nothing to
    train or an option does not fit.

    >>> import optax
    >>> import executorkit as mx
    >>> product = mx.sym.Variable("x") * mx.sym.Variable("w")
    >>> net = mx.sym.LinearRegressionOutput(product, name="out")
    >>> executor = net.simple_bind(mx.cpu(), x=(1,), w=(1,), out_label=(1,))
    >>> step = Step(executor, optax.sgd(0.25), inputs=["x", "out_label"])
    >>> for _ in range(2):
    ...     (output,) = step(x=mx.nd.array([2]), out_label=mx.nd.array([4]))
    >>> executor.arg_dict["w"].asnumpy().tolist()
    [2.0]
    """

    def __init__(
        self,
        target: Any,
        optimizer: Any,
        *,
        inputs: Iterable[str] | None = None,
        out_grads: Any = None,
        rescale_grad: float = 1.0,
        clip_global_norm: float | None = None,
        accumulate: int = 1,
        loss_scale: LossScale | float | None = None,
        compute_dtype: str | None = None,
        remat: Any = None,
    ) -> None:
        self._fed = BatchFeeder(target)
        graph = self._fed.graph
        wanted = parameter_indices(graph.arg_names, self._fed, inputs)
        self.names = tuple(graph.arg_names[i] for i in wanted)
        with options_from_arguments(compute_dtype, remat, self._fed.options):
            self._target = self._fed.target(wanted)
        self._wanted = wanted
        self._out_grads = out_grads
        self._output_names = graph.output_names
        self._last: UpdateSpec | None = None
        self._updater: opt.Updater | None = None
        if isinstance(optimizer, str):
            optimizer = opt.create(optimizer, param_idx2name=dict(enumerate(self.names)))
        if isinstance(optimizer, opt.Optimizer):
            reject_options(rescale_grad=rescale_grad != 1.0, clip_global_norm=clip_global_norm,
                    accumulate=accumulate != 1, loss_scale=loss_scale)  # fmt: skip
            self._updater = opt.Updater(optimizer)
            return
        update = OptaxUpdate(
            build_transformation(optimizer, clip_global_norm, accumulate), self.names, rescale_grad
        )
        if isinstance(loss_scale, int | float):
            loss_scale = LossScale(float(loss_scale), None)
        self._update = update if loss_scale is None else LossScaledUpdate(update, loss_scale)
        state = self._update.init([self._target.first(i).value for i in wanted])
        self._state = jax.tree.map(lambda x: self._target.cell(jnp.asarray(x)), state)

    def __call__(self, **batch: Any) -> list[NDArray]:
        """Takes a step on a batch, given by argument name; returns the outputs.

        Arguments that are not given keep their contents. Raises TypeError for an unknown name,
        ValueError for a wrong shape; nothing is changed then.
        """
        for name in batch:
            if name in self.names:
                raise StepError(
                    explain(
                        f"step: {name!r}",
                        "it is a parameter of this step",
                        hint=f"Step(..., inputs=[{name!r}, ...]), or executor.set_params",
                    )
                )
        self._fed.feed(batch)
        target = self._target
        run = target.start()
        targets = tuple(range(len(self.names)))
        run.backward(self._heads(run))
        if self._updater is None:
            self._last = UpdateSpec(targets, self._update, 0)
            run.update(targets, self._update, self._state, (), None)
        else:
            firsts = [target.first(i) for i in self._wanted]
            planned = self._updater.plan_update(targets, firsts)
            if planned is None:
                raise StepError(
                    explain(
                        "Step",
                        f"{type(self._updater.optimizer).__name__} overrides update, which cannot "
                        "be a part of a program",
                        hint="Module.fit, or an updater",
                    )
                )
            state = tuple(target.state_of(self._updater, i) for i in targets)
            words = planned.words(firsts[0].context)
            self._last = UpdateSpec(targets, planned.update, len(planned.numbers))
            run.update(targets, planned.update, state, planned.numbers, words)
        return target.shown_outputs()

    def _heads(self, run: Any) -> list[Any]:
        heads = self._target.heads(self._out_grads, self._output_names)
        needed = run.executor._program.needs_head_gradient(run.args, run.aux, run.key)
        if any(n and h is None for n, h in zip(needed, heads, strict=True)):
            check_head_gradients(heads, self._output_names, needed)
        return heads

    @property
    def params(self) -> dict[str, jax.Array]:
        """The parameters now, by name (on the first device)."""
        pairs = zip(self.names, self._wanted, strict=True)
        return {name: self._target.first(i).jax for name, i in pairs}

    @property
    def opt_state(self) -> Any:
        """The optimizer's state now: optax's pytree, with a loss scale (scale, good steps, state);
        for MXNet's optimizers the updater's states by number of the parameter."""
        if self._updater is not None:
            return self._updater.states
        return jax.tree.map(self._target.value, self._state)

    @property
    def optimizer(self) -> opt.Optimizer | None:
        """MXNet's optimizer, if it is one; its rate can be changed between steps."""
        return None if self._updater is None else self._updater.optimizer

    @property
    def traces(self) -> int:
        """How often the step's program was traced (compiled), by all equal steps."""
        return sum(f.traces for f in self._functions())

    def analyse(self) -> Analysis:
        """What XLA says of the step: memory in bytes (``memory['peak']``), operations, bytes moved.

        Of the last shapes that it was compiled for; unknown before the first step, and where a step
        is several programs.
        """
        functions = self._functions()
        if len(functions) != 1:
            return Analysis.unknown()
        (function,) = functions
        assert function.avals is not None
        return Analysis.of(function.name, function.compile(*function.avals))

    def _as_view(self) -> View:
        from ._step_view import step_view

        return step_view(self)

    def _functions(self) -> list[InstrumentedJit]:
        return [] if self._last is None else self._target.functions(StepSpec((self._last,), False))

    def _set_state(self, leaves: list[jax.Array]) -> None:
        tree = jax.tree.structure(self._state)
        self._state = jax.tree.unflatten(tree, [self._target.cell(x) for x in leaves])

    def save(self, prefix: Any, epoch: int) -> None:
        """Writes ``<prefix>-symbol.json``, ``<prefix>-0001.params`` and ``<prefix>-0001.step``.

        The last has the optimizer's state and that of ``mx.random``: a run that restores it goes
        on bit for bit. Each file is there whole or not at all, the ``.step`` last.
        """
        write_state(self, prefix, epoch)

    def restore(self, prefix: Any, epoch: int) -> None:
        """Takes over what :meth:`save` wrote, for the same parameters and optimizer.

        Raises FileFormatError or ValueError for anything else; nothing is changed then.
        """
        read_state(self, prefix, epoch)
