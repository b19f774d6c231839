"""Updates by the gradient: every rule in every form, with and without each of its attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._case import Case, Spec, normal, uniform, values

WHY = "MXNet keeps rates as float32, we as Python numbers"
#: MXNet does not allocate the results of the forms for many weights.
BOTH = ("weight_0", "weight_1")


def update(
    name: str,
    op: str,
    inputs: dict[str, Spec],
    attrs: dict[str, Any],
    *also: str,
    why: str = WHY,
    **kwargs: Any,
) -> Case:
    return Case(
        name, op, inputs, attrs, eager=True, also=also, rtol64=1e-5, rtol16=8e-3, why=why, **kwargs
    )


HALF = "float16"
ALL = {"lr": 0.1, "wd": 0.03, "rescale_grad": 0.5, "clip_gradient": 0.4}
RULES = {"sgd": (), "sgd_mom": ("mom",), "nag_mom": ("mom",), "signum": ("mom",), "signsgd": ()}
MIXED = ("sgd", "sgd_mom", "nag_mom")


def numbers(*shape: int, dtype: str | None = None) -> Spec:
    """The same numbers every time, for a weight and its copy."""
    return values(np.random.RandomState(len(shape)).standard_normal(shape).tolist(), dtype)


def one(states: tuple[str, ...], mixed: bool, *shape: int) -> dict[str, Spec]:
    """The arrays of one weight; a half precision one has its float32 copy last."""
    arrays = {"weight": normal(*shape), "grad": normal(*shape)}
    if mixed:
        arrays = {"weight": numbers(*shape, dtype=HALF), "grad": normal(*shape, dtype=HALF)}
    arrays.update({n: uniform(*shape) for n in states})
    return {**arrays, "weight32": numbers(*shape)} if mixed else arrays


def many(states: tuple[str, ...], mixed: bool, *shapes: tuple[int, ...]) -> dict[str, Spec]:
    """The arrays of several weights, one after the other."""
    return {
        f"{name}_{i}": spec
        for i, shape in enumerate(shapes)
        for name, spec in one(states, mixed, *shape).items()
    }


CASES = []
for _rule, _states in RULES.items():
    _more = {"momentum": 0.9} if _states else {}
    _op = f"{_rule}_update"
    CASES += [
        update(f"{_op}_plain", _op, one(_states, False, 3, 2), {"lr": 0.1}, "float64", HALF),
        update(f"{_op}_all", _op, one(_states, False, 5), {**ALL, **_more}, "float64"),
    ]
    if _rule in MIXED:
        CASES.append(update(f"mp_{_op}_all", f"mp_{_op}", one(_states, True, 5), {**ALL, **_more}))
CASES.append(
    update(
        "signum_update_wd_lh", "signum_update", one(("mom",), False, 4), {"lr": 0.1, "wd_lh": 0.2}
    )
)
for _rule, _states in {"sgd": (), "sgd_mom": ("mom",)}.items():
    _more = {"momentum": 0.9, "rescale_grad": 0.5, "clip_gradient": 0.4, "num_weights": 2}
    if not _states:
        del _more["momentum"]
    for _mixed in (False, True):
        _op = f"{'mp_' if _mixed else ''}{_rule}_update"
        _arrays = many(_states, _mixed, (3, 2), (1,))
        CASES += [
            update(
                f"multi_{_op}",
                f"multi_{_op}",
                _arrays,
                {"lrs": (0.1, 0.2), "wds": (0.0, 0.03), **_more},
                out=BOTH,
            ),
            update(
                f"preloaded_multi_{_op}",
                f"preloaded_multi_{_op}",
                {**_arrays, "lrs": uniform(2, low=0.1, high=0.2), "wds": uniform(2, high=0.1)},
                _more,
                out=BOTH,
            ),
        ]
CASES += [
    update(
        "nag_mom_update_out",
        "nag_mom_update",
        one(("mom",), False, 4),
        {**ALL, "momentum": 0.9},
        "float64",
        out=("weight",),
    ),
    update("sgd_update_out", "sgd_update", one((), False, 4), {"lr": 0.1}, out=("weight",)),
    update(
        "sgd_mom_update_lazy",
        "sgd_mom_update",
        one(("mom",), False, 4),
        {"lr": 0.1, "lazy_update": False},
    ),
]
