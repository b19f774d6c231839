"""Updates whose optimizer state is divided over devices.

Each device updates its part of the parameters by its part of the summed gradients, and all gather
the new parameters. An update that cannot be computed so (:mod:`._by_parts`) is computed whole, of
state that is gathered for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ..arrays.storage import Shape
from ..program import Arrays, StepSpec, UpdateFunction
from ._by_parts import by_parts
from ._division import Division


@dataclass(frozen=True)
class DividedUpdate:
    """An update in the spec of a step that divides its state.

    update
        the update of whole arrays.
    division
        the devices.
    leaves
        for each leaf of the state its shape if it is divided, else None.
    """

    update: UpdateFunction
    division: Division
    leaves: tuple[Shape | None, ...]

    def __hash__(self) -> int:
        return hash((self.update, self.leaves[:1]))


class _OnDevice:
    """A divided update while a step is traced, with the places of arrays in messages."""

    def __init__(self, divided: DividedUpdate, offsets: Sequence[Any]) -> None:
        self.division = divided.division
        self.offsets = offsets
        self._update = divided.update
        self._leaves = divided.leaves
        loss_scale = getattr(divided.update, "loss_scale", None)
        if loss_scale is not None:
            self.loss_scale = loss_scale

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Any, hyperparams: Any, key_data: Any
    ) -> tuple[Arrays, Any]:
        division = self.division
        leaves, tree = jax.tree.flatten(state)
        places = [i for i, w in enumerate(weights) if division.divides(w.shape)]
        shapes = [weights[i].shape for i in places]
        program = by_parts(
            self._update, division, weights, (leaves, tree, self._leaves), hyperparams, key_data
        )
        if program is None:
            sums = division.gathered([grads[i] for i in places], shapes, self.offsets)
            return self._whole(weights, _with(grads, places, sums), state, hyperparams, key_data)
        parts = _with(weights, places, [division.own_part(weights[i]) for i in places])
        new, new_leaves = program(parts, grads, leaves, hyperparams, key_data)
        gathered = division.gathered([new[i] for i in places], shapes, self.offsets)
        return _with(new, places, gathered), new_leaves

    def _whole(
        self, weights: Arrays, grads: Arrays, state: Any, hyperparams: Any, key_data: Any
    ) -> tuple[Arrays, Any]:
        """The update of whole arrays, with the device's part of the new state."""
        division = self.division
        leaves, tree = jax.tree.flatten(state)
        places = [k for k, shape in enumerate(self._leaves) if shape is not None]
        shapes = [shape for shape in self._leaves if shape is not None]
        gathered = division.gathered([leaves[k] for k in places], shapes)
        state = jax.tree.unflatten(tree, _with(leaves, places, gathered))
        new, new_state = self._update(weights, grads, state, hyperparams, key_data)
        leaves = jax.tree.leaves(new_state)
        return new, _with(leaves, places, [division.own_part(leaves[k]) for k in places])


def _with(arrays: Arrays, places: Sequence[int], others: Arrays) -> list[Any]:
    """The arrays, with others at these places."""
    result = list(arrays)
    for i, other in zip(places, others, strict=True):
        result[i] = other
    return result


def offsets_of_updates(
    spec: StepSpec, weights: Sequence[Arrays]
) -> tuple[list[Any], tuple[tuple[Any, ...], ...]]:
    """The weights whose gradients are summed whole, in their order, and the offsets of the others,
    for each update of a step; of stacked arrays."""
    whole: list[Any] = []
    offsets = []
    for (_, update, _), group in zip(spec.updates, weights, strict=True):
        if not isinstance(update, DividedUpdate):
            whole += group
            offsets.append(())
            continue
        division = update.division
        parts = [jax.ShapeDtypeStruct(w.shape[1:], w.dtype) for w in group]
        divides = [division.divides(p.shape) for p in parts]
        whole += [w for w, d in zip(group, divides, strict=True) if not d]
        offsets.append(division.offsets([p for p, d in zip(parts, divides, strict=True) if d]))
    return whole, tuple(offsets)


def with_offsets(spec: StepSpec, offsets: Sequence[Sequence[Any]]) -> StepSpec:
    """The spec that a step is traced with, for the arguments that hold these offsets."""
    updates = [
        u._replace(update=_OnDevice(u.update, places)) if isinstance(u.update, DividedUpdate) else u
        for u, places in zip(spec.updates, offsets, strict=True)
    ]
    return spec._replace(updates=tuple(updates))


def reduced(spec: StepSpec, grads: Arrays, sums_of: Callable[[Arrays], Arrays]) -> tuple[Any, ...]:
    """The sums of the gradients that the updates of a traced step take, or the device's parts.

    ``sums_of`` computes those that are summed whole, all at once.
    """
    rest, groups = iter(grads), []
    for targets, update, _ in spec.updates:
        group = [next(rest) for _ in targets]
        divides = update.division.divides if isinstance(update, _OnDevice) else lambda shape: False
        groups.append((update, group, [divides(g.shape) for g in group]))
    whole = iter(
        sums_of(
            [
                g
                for _, group, is_divided in groups
                for g, d in zip(group, is_divided, strict=True)
                if not d
            ]
        )
    )
    results: list[Any] = []
    for update, group, is_divided in groups:
        parts: Iterator[Any] = iter(())
        if isinstance(update, _OnDevice):
            divided = [g for g, d in zip(group, is_divided, strict=True) if d]
            parts = iter(update.division.sums(divided, update.offsets))
        results += [next(parts if d else whole) for d in is_divided]
    return tuple(results)
