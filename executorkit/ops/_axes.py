"""Axes given as attributes: counted from either end, and checked. No jax in here."""

from __future__ import annotations

from ..errors import ShapeError


def normal_axis(axis: int, ndim: int, name: str = "axis") -> int:
    """``axis`` counted from the front; a :class:`ShapeError` names the attribute.

    >>> normal_axis(-1, 3)
    2
    """
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"{name}={axis}, expected {-ndim} to {ndim - 1}: the input has {ndim} axes"
        )
    return axis % ndim


def normal_axes(axes: tuple[int, ...], ndim: int, name: str = "axes") -> tuple[int, ...]:
    """Several axes counted from the front, none of them twice."""
    normal = tuple(normal_axis(a, ndim, name) for a in axes)
    if len(set(normal)) != len(normal):
        raise ShapeError(f"{name}={axes} names an axis twice")
    return normal
