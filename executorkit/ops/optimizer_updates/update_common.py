"""Registration of the optimizers' update operators.

A rule is registered in several forms: for one weight, for a half precision weight with a float32
copy (``mp_``), and for many weights (``multi_``). They exist for arrays only: calling one changes
the states in place.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jax import Array

from ..._support.annotations import Function
from ..schema.attrs import Tuning
from ..schema.calls import with_signature
from ..schema.inference import Params, ShapeFacts, TypeFacts, same_dtype_among, same_shapes_among
from ..schema.operator_registry import register
from ..schema.traits import MUTATES

Attrs = Mapping[str, tuple[Any, Any]]

REQUIRED = inspect.Parameter.empty
LR: Attrs = {"lr": (float, REQUIRED)}
WD: Attrs = {"wd": (float, 0.0)}
CLIP: Attrs = {"clip_gradient": (float, -1.0)}
RESCALE: Attrs = {"rescale_grad": (float, 1.0), **CLIP}
COUNT: Attrs = {"num_weights": (int, 1)}
LAZY: Attrs = {"lazy_update": (Tuning[bool], True)}

#: Attributes of the forms for many weights: their names in the forms for one weight.
_PLURALS = {"lrs": "lr", "wds": "wd", "etas": "eta", "learning_rates": "lr", "step_count": "t"}


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """A rule of an optimizer."""

    #: ``step(p, weight, grad, *states)`` returns the new weight and the new states.
    step: Callable[..., tuple[Array, ...]]
    #: The equations, for docstrings.
    words: str
    states: tuple[str, ...] = ()
    #: Attributes of the form for one weight, as :func:`with_signature` takes them.
    attrs: Attrs = field(default_factory=dict)
    #: Arrays that come once, after all weights; ``step`` finds them in ``p``.
    trailing: tuple[str, ...] = ()

    def names(self, mixed: bool) -> tuple[str, ...]:
        return ("weight", "grad", *self.states, *(("weight32",) if mixed else ()))

    def mutated(self, mixed: bool) -> tuple[str, ...]:
        return self.names(mixed)[2:]

    def run(self, p: Params, mixed: bool, *arrays: Array) -> tuple[Array, ...]:
        if not mixed:
            return self.step(p, *arrays)
        weight, grad, *states, weight32 = arrays
        new, *new_states = self.step(p, weight32, grad.astype(weight32.dtype), *states)
        return new.astype(weight.dtype), *new_states, new


def clip_to_limit(grad: Array, limit: float) -> Array:
    """Clips ``grad`` to [-limit, limit]; a negative limit does nothing."""
    return jnp.clip(grad, -limit, limit) if limit >= 0 else grad


def rescale_and_clip(p: Params, grad: Array) -> Array:
    return clip_to_limit(grad * p.rescale_grad, p.clip_gradient)


_MIXED = (
    " The weight is the float32 copy ``weight32``, rounded; everything is computed in float32,"
    " which the states are too."
)
_ONE = (
    "{words}\n\nweight, grad{states} have one shape. Returns the new weight, usually into "
    "``out=weight``; {changes}.{mixed} g is the gradient times rescale_grad, clipped to "
    "[-clip_gradient, clip_gradient] unless that is negative. For arrays only, dense ones; "
    "not part of graphs."
)


def register_update(
    name: str, update: UpdateRule, *, mixed: bool = False, in_place: UpdateRule | None = None
) -> None:
    """Registers the form for one weight, in one precision or with a float32 copy. ``in_place`` is
    the rule for a new weight that is written over the old one, if it differs."""
    names, mutated = update.names(mixed), update.mutated(mixed)

    def form(rule: UpdateRule) -> Function:
        def run(arrays: tuple[Array, ...], attrs: dict[str, Any]) -> tuple[Array, ...]:
            per_weight, trailing = arrays[: len(names)], arrays[len(names) :]
            p = Params({**attrs, **dict(zip(rule.trailing, trailing, strict=True))})
            return rule.run(p, mixed, *per_weight)

        return with_signature(run, name, doc, (*names, *rule.trailing), rule.attrs, states=mutated)

    def mixed_types(t: TypeFacts, p: Params) -> None:
        t.same("weight", "grad", "out0")
        t.same(*mutated)

    doc = _ONE.format(
        words=update.words,
        states="".join(f", {n}" for n in mutated),
        changes=f"{', '.join(mutated)} change in place" if mutated else "nothing else changes",
        mixed=_MIXED if mixed else "",
    )
    register(
        name,
        traits={MUTATES},
        infer_shape=same_shapes_among(*names, "out0"),
        infer_type=mixed_types if mixed else same_dtype_among(*names, "out0"),
        in_place=None if in_place is None else form(in_place),
    )(form(update))


_MANY = (
    "{words}\n\nThis is done for ``{count}`` weights of any shapes at once. data are, weight by "
    "weight, {names}, all of one shape{trailing}. Returns the new weights, usually into ``out``, a "
    "list of the weights; {changes}.{mixed} g is the gradient times rescale_grad, clipped to "
    "[-clip_gradient, clip_gradient] unless that is negative. {plural}For arrays only, dense "
    "ones; not part of graphs."
)


def register_many(
    name: str,
    update: UpdateRule,
    attrs: Attrs,
    *,
    mixed: bool = False,
    count: str = "num_weights",
    trailing: tuple[str, ...] = (),
) -> None:
    """Registers the form for many weights; ``trailing`` are arrays with one number per weight."""
    names, mutated = update.names(mixed), update.mutated(mixed)
    plural = {n: singular for n, singular in _PLURALS.items() if n in attrs or n in trailing}

    def run(arrays: tuple[Array, ...], p: dict[str, Any]) -> tuple[Array, ...]:
        weight_count = p[count]
        trailing_arrays = arrays[weight_count * len(names) :]
        shared = {**p, **dict(zip((*update.trailing, *trailing), trailing_arrays, strict=True))}
        weights, states = [], []
        for i in range(weight_count):
            per_weight = arrays[i * len(names) : (i + 1) * len(names)]
            own = {singular: shared[n][i] for n, singular in plural.items()}
            weight, *new = update.run(Params({**shared, **own}), mixed, *per_weight)
            # Rates that are arrays have a type of their own.
            weights.append(weight.astype(per_weight[0].dtype))
            states += [x.astype(old.dtype) for x, old in zip(new, per_weight[2:], strict=True)]
        return *weights, *states

    def numbered(which: tuple[str, ...], p: Params) -> tuple[str, ...]:
        return tuple(f"{n}_{i}" for i in range(p[count]) for n in which)

    def infer_shape(s: ShapeFacts, p: Params) -> None:
        for i in range(p[count]):
            s.same(*(f"{n}_{i}" for n in names), f"out{i}")

    def types(t: TypeFacts, p: Params) -> None:
        for i in range(p[count]):
            t.same(*(f"{n}_{i}" for n in (names[:2] if mixed else names)), f"out{i}")

    trailing_arrays = (*update.trailing, *trailing)
    doc = _MANY.format(
        words=update.words,
        count=count,
        names=", ".join(names),
        trailing=f"; after them {' and '.join(trailing_arrays)}" if trailing_arrays else "",
        changes=f"{', '.join(mutated)} change in place" if mutated else "nothing else changes",
        mixed=_MIXED if mixed else "",
        plural="".join(f"{n} holds {singular} of each weight. " for n, singular in plural.items()),
    )
    register(
        name,
        traits={MUTATES},
        inputs=lambda p: (*numbered(names, p), *trailing_arrays),
        outputs=lambda p: tuple(f"output{i}" for i in range(p[count])),
        aux=lambda p: numbered(mutated, p),
        infer_shape=infer_shape,
        infer_type=types,
    )(with_signature(run, name, doc, ("*data",), attrs))
