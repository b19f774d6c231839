"""The view of a training step: its optimizer with its state, its cost, and its target."""

from __future__ import annotations

import jax

from ..display import Fold, Line, Part, View, many, scaled, shape, view_of
from ..executor import Section, SectionEntry, executor_parts, memory_summary, section_views
from ..parallel import group_parts
from ._step import Step


@view_of.register
def step_view(step: Step) -> View:
    """The optimizer and its state, the cost of the program, and the target."""
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
    states = [(path, x.value) for path, x in leaves]
    state = [
        SectionEntry(jax.tree_util.keystr(path), [shape(x.shape), x.dtype.name], x)
        for path, x in states
    ]
    parts += section_views([Section("optimizer state", ["shape", "dtype"], state, open=False)])
    target: list[Part] = []
    if feeder.core is not None:
        target = group_parts(feeder.core)
    elif feeder.executor is not None:
        target = executor_parts(feeder.executor)
    title = f"Step of {feeder.bound.symbol.name or 'a group of symbols'}: {kind}"
    return View(title, [*parts, Fold("what it trains", target, open=True)])
