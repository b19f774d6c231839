"""Updates with a rate per element: every rule, with and without each of its attributes."""

from __future__ import annotations

from ._case import Case, uniform, values
from .sgd import ALL, BOTH, HALF, many, one, update

STATES = {
    "adam": ("mean", "var"),
    "ftml": ("d", "v", "z"),
    "ftrl": ("z", "n"),
    "rmsprop": ("n",),
    "rmspropalex": ("n", "g", "delta"),
}
#: All attributes of a rule, none at its default.
EVERY = {
    "adam": {**ALL, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-3, "lazy_update": False},
    "ftml": {"lr": 0.1, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3, "t": 3, "wd": 0.03,
             "rescale_grad": 0.5, "clip_grad": 0.4},
    "ftrl": {**ALL, "lamda1": 0.2, "beta": 0.5},
    "rmsprop": {**ALL, "gamma1": 0.8, "epsilon": 1e-3, "clip_weights": 0.5},
    "rmspropalex": {**ALL, "gamma1": 0.8, "gamma2": 0.7, "epsilon": 1e-3, "clip_weights": 0.5},
}  # fmt: skip


def arrays(rule: str, *shape: int):
    specs = one(STATES[rule], False, *shape)
    if rule == "rmspropalex":  # n stays above g^2
        specs |= {"n": uniform(*shape, low=1, high=2)}
    return specs


CASES: list[Case] = []
for _rule, _attrs in EVERY.items():
    _least = {"lr": 0.1, "t": 1} if _rule == "ftml" else {"lr": 0.1}
    CASES += [
        update(f"{_rule}_update_plain", f"{_rule}_update", arrays(_rule, 3, 2), _least, "float64"),
        update(f"{_rule}_update_all", f"{_rule}_update", arrays(_rule, 5), _attrs, "float64"),
    ]
CASES.append(
    update("adam_update_half", "adam_update", arrays("adam", 5), {"lr": 0.1, "epsilon": 1e-3}, HALF)
)

for _mixed in (False, True):
    _ADAMW = {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-3}
    # In one precision, MXNet overwrites a gradient that it scales or clips.
    _scale = 1.0
    if _mixed:
        _ADAMW["clip_gradient"], _scale = 0.4, 0.5
    _op = f"{'mp_' if _mixed else ''}adamw_update"
    _own = one(STATES["adam"], _mixed, 5)
    CASES += [
        update(f"{_op}_plain", f"_{_op}", {**_own, "rescale_grad": values([1.0])},
               {"lr": 0.1, "eta": 1.0}),
        update(f"{_op}_all", f"_{_op}", {**_own, "rescale_grad": values([_scale])},
               {**_ADAMW, "lr": 0.1, "wd": 0.03, "eta": 0.7}),
        update(f"{_op}_overflow", f"_{_op}", {**_own, "rescale_grad": values([float("inf")])},
               {"lr": 0.1, "eta": 1.0}, out=("weight",)),
        update(f"{_op}_no_scale", f"_{_op}", {**_own, "rescale_grad": values([0.0])},
               {"lr": 0.1, "eta": 1.0}, out=("weight",)),
        update(
            f"multi_{_op}",
            f"_multi_{_op}",
            {**many(STATES["adam"], _mixed, (3, 2), (1,)), "rescale_grad": values([0.5])},
            {**_ADAMW, "lrs": (0.1, 0.2), "wds": (0.0, 0.03), "etas": (1.0, 0.7),
             "num_weights": 2},
            out=BOTH,
        ),
    ]  # fmt: skip
