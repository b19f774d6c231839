"""What notebooks show of a training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from ..display import Fold, Line, Part, View, many, scaled, shape
from ..executor._array_sections import Section, SectionEntry, memory_summary, section_views
from ..executor._executor_view import executor_parts
from ..parallel._group_view import group_parts
from ..parallel._replicated_array import ReplicatedArray

if TYPE_CHECKING:
    from ._step import Step


def step_view(step: Step) -> View:
    """The optimizer and its state, what the program costs, and what it trains."""
    fed, analysis = step._fed, step.analyse()
    peak = scaled((analysis.memory or {}).get("peak"), "B", 1024)
    wanted = [step._target.arg_arrays[i] for i in step._wanted]
    kind = "optax" if step.optimizer is None else type(step.optimizer).__name__
    parts: list[Part] = [
        Line(f"parameters: {memory_summary(wanted)} on each device"),
        Line(
            f"{many(step.traces, 'compilation')}, {scaled(analysis.flops, 'FLOPs')} by XLA, "
            f"peak memory {peak}"
        ),
    ]
    state = [
        SectionEntry(jax.tree_util.keystr(path), [shape(x.shape), x.dtype.name], x)
        for path, x in _state(step)
    ]
    parts += section_views([Section("optimizer state", ["shape", "dtype"], state, open=False)])
    inner: list[Part] = []
    if fed.group is not None:
        inner = group_parts(fed.group)
    elif fed.executor is not None:
        inner = executor_parts(fed.executor)
    title = f"Step of {fed.symbol.name or 'a group of symbols'}: {kind}"
    return View(title, [*parts, Fold("what it trains", inner, open=True)])


def _state(step: Step) -> list[tuple[Any, jax.Array]]:
    """The arrays of the optimizer's state, on the first device, with where they stand in it."""
    if step._updater is None:
        tree = step._state
    else:
        states = step._updater.states
        tree = {name: states.get(i) for i, name in enumerate(step.names)}
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(path, (x[0] if isinstance(x, ReplicatedArray) else x).value) for path, x in leaves]
