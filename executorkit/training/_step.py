"""``Step``: forward, backward, the sum over devices and an optax update as one program."""

import os
from collections.abc import Iterable
from typing import Any

import jax

from .. import optimizer as opt, processes
from ..calls.rollback import Rollback
from ..display import Fold, Line, Part, View, Viewed, brief, many, scaled, shape, view_of
from ..errors import StepError
from ..executor import (
    Section,
    SectionEntry,
    check_head_gradients,
    executor_parts,
    memory_summary,
    section_views,
)
from ..ndarray import NDArray
from ..ndarray.array_statistics import statistics
from ..parallel import group_parts, lockstep, share_first
from ..program import Analysis, options_from_arguments
from ._batch_feeder import BatchFeeder
from ._optax_updates import LossScale, LossScaledUpdate, build_transformation, reject_options
from ._step_files import OptaxState, read_step, unpack_optax_state, write_step


class Step(Viewed):
    """One training step as one compiled, donated program.

        step = mx.training.Step(executor, optax.adam(1e-3))
        for batch in iterator:
            (out,) = step(data=batch.data[0], softmax_label=batch.label[0])

    The program computes forward and backward, sums the gradients over the devices of a group,
    updates the parameters and the optimizer's state in place, and changes auxiliary states as
    ``backward`` does. Outputs come back at once and are computed meanwhile. The executor's
    parameters can be read, saved and written between steps.

    target
        An Executor; or, on several devices, a bound module, an executor group, or a manager. Slices
        of different lengths and repeated contexts take a program for each slice and one for the
        update, with the same results and without donation.
    optimizer
        An ``optax.GradientTransformation`` (it sees a dict of parameters by name), or one of
        MXNet's optimizers, as an instance or a name.
    inputs
        The arguments that are not parameters. By default arguments without gradient, loaded by the
        group, or called ``...data`` or ``...label``.
    out_grads
        The head gradients of outputs that are not losses, as for ``backward``.
    rescale_grad
        A factor of the gradients, for optax only. Losses of symbols sum over the rows of a batch
        unless they are normalised: ``1 / batch size`` then makes a mean, for any number of devices.
    clip_global_norm
        The limit of the norm of all gradients together (``optax.clip_by_global_norm``).
    accumulate
        The number of calls per update, which uses the mean of their gradients
        (``optax.MultiSteps``).
    loss_scale
        The factor of losses, for float16: a :class:`LossScale`, or a number for a constant one.
    compute_dtype
        The precision of the computation. By default the option of :func:`mx.program.options`, or,
        outside of such a context, the option that the target was bound with.
    remat
        The values that backward computes again, with the same default; see ``mx.program.Options``.
        :meth:`analyse` tells their effect.
    kvstore
        'local' for a step by the gradients of this process alone. By default a step of a group is
        by the gradients of all processes, which begin with the parameters of the first and have to
        take the same steps; a step of an Executor is always this process's.

    Raises TypeError for a target that cannot run as one program, ValueError without parameters to
    train or for an option that does not fit.

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
        remat: object = None,
        kvstore: str | None = None,
    ) -> None:
        if kvstore not in (None, "local"):
            hint = "None sums over all processes of the job, 'local' over this one's devices"
            raise StepError("Step: kvstore", f"{kvstore!r}, expected None or 'local'", hint=hint)
        self._feeder = BatchFeeder(target, alone=kvstore == "local")
        bound = self._feeder.bound
        graph = bound.graph
        self._argnums = self._feeder.parameter_indices(inputs)
        self.names = tuple(graph.arg_names[i] for i in self._argnums)
        with options_from_arguments(compute_dtype, remat, bound.options):
            self._backend = self._feeder.backend(self._argnums)
        if self._feeder.joins:
            assert self._feeder.core is not None
            share_first(self._feeder.core, self.names)
        self._out_grads = out_grads
        self._output_names = graph.output_names
        self._uses_rng = graph.uses_rng(True)
        #: Arguments of the latest :meth:`save`, which is made again before a job stops.
        self._saved: tuple[Any, int] | None = None
        if isinstance(optimizer, str):
            optimizer = opt.create(optimizer, param_idx2name=dict(enumerate(self.names)))
        self._updater: opt.Updater | opt.OptaxUpdater
        if isinstance(optimizer, opt.Optimizer):
            reject_options(rescale_grad=rescale_grad != 1.0, clip_global_norm=clip_global_norm,
                    accumulate=accumulate != 1, loss_scale=loss_scale)  # fmt: skip
            self._updater = opt.Updater(optimizer)
        else:
            transformation = build_transformation(optimizer, clip_global_norm, accumulate)
            update = opt.OptaxUpdate(transformation, self.names, rescale_grad)
            if isinstance(loss_scale, int | float):
                loss_scale = LossScale(float(loss_scale), None)
            scaled = update if loss_scale is None else LossScaledUpdate(update, loss_scale)
            self._updater = opt.OptaxUpdater(scaled, self._backend.state_sources)

    def __repr__(self) -> str:
        kind = "optax" if self.optimizer is None else repr(self.optimizer)
        parameters = many(len(self.names), "parameter")
        return brief(
            self, f"of {self._feeder.bound.symbol.name or 'a group of symbols'}",
            [kind, parameters, many(self.traces, "compilation")],
        )  # fmt: skip

    def __call__(self, **batch: object) -> list[NDArray]:
        """Takes a step on a batch, given by argument name; returns the outputs.

        Arguments left out keep their contents. Raises TypeError for an unknown name, ValueError for
        a wrong shape, and changes nothing then. In a job asked to stop (SIGTERM), all processes end
        after the same step, with status 143; a process that has called :meth:`save` writes that
        checkpoint again.
        """
        for name in batch:
            if name in self.names:
                hint = f"Step(..., inputs=[{name!r}, ...]), or executor.set_params"
                raise StepError(f"step: {name!r}", "it is a parameter of this step", hint=hint)
        backend = self._backend
        with Rollback():
            with backend.lock:
                self._feeder.feed(batch)
                self._take_step()
            outputs = backend.whole_outputs()
        if self._feeder.joins and processes.stop_requested(lockstep.steps):
            if self._saved is not None:
                self.save(*self._saved)
            raise SystemExit(143)
        return outputs

    def _take_step(self) -> None:
        backend, updater = self._backend, self._updater
        n_updates = updater.n_updates
        with Rollback(lambda: updater.n_updates != n_updates, self._uses_rng) as rollback:
            steps = backend.start()
            for step in steps:
                rollback.add(step.withdraw)
            heads = backend.heads(self._out_grads, self._output_names)
            needed = steps[0].needs_head_gradients()
            if any(n and h is None for n, h in zip(needed, heads[0], strict=True)):
                check_head_gradients(heads[0], self._output_names, needed)
            backend.backward(steps, heads, updater)
            if not backend.update(updater):
                raise StepError(
                    "Step",
                    f"{type(self.optimizer).__name__} overrides update, which cannot be a part of "
                    "a program",
                    hint="Module.fit, or an updater",
                )
        self._feeder.count_step()

    @property
    def params(self) -> dict[str, jax.Array]:
        """The parameters now, by name (on the first device)."""
        pairs = zip(self.names, self._argnums, strict=True)
        return {name: self._backend.first(i).jax for name, i in pairs}

    @property
    def opt_state(self) -> Any:
        """The optimizer's state: optax's pytree, with a loss scale (scale, good steps, state); for
        MXNet's optimizers the updater's states by number of the parameter."""
        updater = self._updater
        if isinstance(updater, opt.Updater):
            return updater.states
        return jax.tree.map(lambda x: x.jax, updater.states[0])

    @property
    def optimizer(self) -> opt.Optimizer | None:
        """MXNet's optimizer, if it is one; its rate can be changed between steps."""
        return self._updater.optimizer if isinstance(self._updater, opt.Updater) else None

    @property
    def traces(self) -> int:
        """The number of traces (compilations) of the step's program, by all equal steps."""
        return sum(f.traces for f in self._backend.functions)

    def analyse(self) -> Analysis:
        """Returns XLA's analysis of the step: memory in bytes (``memory['peak']``), operations,
        traffic. It is of the shapes compiled last; unknown before the first step, and for several
        programs."""
        functions = self._backend.functions
        if len(functions) != 1 or functions[0].name != "step":
            return Analysis()
        (function,) = functions
        assert function.avals is not None
        return Analysis.of(function.name, function.compile(*function.avals))

    # -- views and files -------------------------------------------------------------------------

    @property
    def feeder(self) -> BatchFeeder:
        """The target of this step."""
        return self._feeder

    @property
    def parameter_arrays(self) -> list[Any]:
        """The parameters: NDArrays, or the arrays of all devices."""
        return [self._backend.arg_arrays[i] for i in self._argnums]

    @property
    def named_state(self) -> Any:
        """A pytree of the optimizer's state, with MXNet's states by name of the parameter; its
        leaves are pending values."""
        states = self._updater.states
        if isinstance(self._updater, opt.OptaxUpdater):
            return states[0]
        return {name: states.get(i) for i, name in enumerate(self.names)}

    def save(self, prefix: Any, epoch: int) -> None:
        """Writes ``<prefix>-symbol.json``, ``<prefix>-0001.params`` and ``<prefix>-0001.step``. The
        last has the states of the optimizer and of ``mx.random``: a run that restores it goes on
        bit for bit. Each file is there whole or not at all, the ``.step`` last."""
        self._saved = prefix, epoch
        args = {n: self._backend.first(i) for n, i in zip(self.names, self._argnums, strict=True)}
        aux = [a if isinstance(a, NDArray) else a[0] for a in self._backend.aux_arrays]
        aux_params = dict(zip(self._feeder.bound.graph.aux_names, aux, strict=True))
        write_step(prefix, epoch, self._feeder.bound.symbol, args, aux_params, self._state)
        processes.note_checkpoint(f"{prefix}-{int(epoch):04d}")

    @property
    def _state(self) -> opt.Updater | OptaxState:
        updater = self._updater
        if isinstance(updater, opt.Updater):
            return updater
        state = jax.tree.map(lambda x: x.host, updater.states[0])
        return OptaxState(self.names, state, updater.n_updates)

    def restore(self, prefix: str | os.PathLike[str], epoch: int) -> None:
        """Restores files of :meth:`save`, for the same parameters and optimizer. Raises
        FileFormatError or ValueError for other files, and changes nothing then."""
        args, aux, content, path = read_step(prefix, epoch)
        updater, state = self._updater, self._state
        if isinstance(updater, opt.Updater):
            device = self._backend.weights[0].context.device_id
            indices = {name: i for i, name in enumerate(self.names)}
            restore = opt.prepare_restoration(updater, content, indices, [device], path)
            self._feeder.set_params(args, aux)
            restore()
            return
        assert isinstance(state, OptaxState)
        leaves, steps, set_random_state = unpack_optax_state(content, path, state)
        self._feeder.set_params(args, aux)
        updater.set_state(jax.tree.unflatten(jax.tree.structure(state.state), leaves))
        updater.n_updates = steps
        set_random_state()


@view_of.register
def step_view(step: Step) -> View:
    feeder, analysis = step.feeder, step.analyse()
    peak = scaled((analysis.memory or {}).get("peak"), "B", 1024)
    kind = "optax" if step.optimizer is None else type(step.optimizer).__name__
    parts: list[Part] = [
        Line(f"parameters: {memory_summary(step.parameter_arrays)} on each device"),
        Line(
            f"{many(step.traces, 'compilation')}, {scaled(analysis.flops, 'FLOPs')} by XLA, "
            f"peak memory {peak}"
        ),
    ]
    # On the first device.
    leaves, _ = jax.tree_util.tree_flatten_with_path(step.named_state)
    state = [
        SectionEntry(
            jax.tree_util.keystr(path),
            [shape(leaf.value.shape), leaf.value.dtype.name],
            statistics(jax.device_get(leaf.value)),
        )
        for path, leaf in leaves
    ]
    parts += section_views([Section("optimizer state", ["shape", "dtype"], state, open=False)])
    target: list[Part] = []
    if feeder.core is not None:
        target = group_parts(feeder.core)
    elif feeder.executor is not None:
        target = executor_parts(feeder.executor)
    title = f"Step of {feeder.bound.symbol.name or 'a group of symbols'}: {kind}"
    return View(title, [*parts, Fold("target", target, open=True)])
