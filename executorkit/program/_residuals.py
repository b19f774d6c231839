"""What ``forward`` keeps for ``backward``, and what goes back through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp


class ArraySpec:
    """Shape and dtype of an array, as a static part of a pytree."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ArraySpec) and self.shape == other.shape and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


@jax.tree_util.register_pytree_node_class
class Residuals:
    """What ``forward`` keeps for ``backward``: the linearised graph with its arrays."""

    __slots__ = ("outputs", "vjp", "argnums")

    def __init__(
        self, vjp: Any, outputs: tuple[ArraySpec, ...], argnums: tuple[ArraySpec, ...]
    ) -> None:
        self.vjp = vjp
        self.outputs = outputs
        self.argnums = argnums

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return (self.vjp,), (self.outputs, self.argnums)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], children: tuple[Any, ...]) -> Residuals:
        return cls(children[0], *static)


def cotangents(heads: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents of the floating outputs: the head gradients, zeros where none is needed."""
    return tuple(
        jnp.zeros(like.shape, like.dtype) if head is None else head.astype(like.dtype)
        for head, like in zip(heads, outputs, strict=True)
        if jnp.issubdtype(like.dtype, jnp.inexact)
    )
