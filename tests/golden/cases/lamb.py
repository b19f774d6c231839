"""LAMB and LARS: both phases, the bounds, layers without a norm."""

from __future__ import annotations

from ._case import Case, normal, uniform, values
from .sgd import BOTH, HALF, many, numbers, one, update

STATES = ("mean", "var")
PHASE1 = {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-3, "rescale_grad": 0.5, "clip_gradient": 0.4}
CASES: list[Case] = []
for _mixed in (False, True):
    _mp = "mp_" if _mixed else ""
    _own = one(STATES, _mixed, 3, 2)
    _rounded = {"rtol": 2e-4, "why": "MXNet takes the norm of the rounded weight"} if _mixed else {}
    _kind = HALF if _mixed else None
    _second = {
        "weight": numbers(5, dtype=_kind),
        "g": normal(5),
        "r1": values([2.0]),
        "r2": values([3.0]),
        **({"weight32": numbers(5)} if _mixed else {}),
    }
    _multi = {"learning_rates": (0.1, 0.2), "wds": (0.0, 0.03), "step_count": (1, 4),
              "num_tensors": 2}  # fmt: skip
    _one, _two = f"{_mp}lamb_update_phase1", f"{_mp}lamb_update_phase2"
    CASES += [
        update(f"{_one}_plain", _one, _own, {"t": 1, "wd": 0.0}),
        update(f"{_one}_all", _one, _own, {**PHASE1, "t": 3, "wd": 0.03}),
        update(f"{_one}_biased", _one, _own, {"t": 3, "wd": 0.03, "bias_correction": False}),
        update(f"{_two}_plain", _two, _second, {"lr": 0.1}),
        update(f"{_two}_lower", _two, _second, {"lr": 0.1, "lower_bound": 2.5}),
        update(f"{_two}_upper", _two, _second, {"lr": 0.1, "upper_bound": 1.5}),
        update(f"{_two}_no_norm", _two, {**_second, "r2": values([0.0])}, {"lr": 0.1}),
        update(
            f"multi_{_mp}lamb_update",
            f"_multi_{_mp}lamb_update",
            many(STATES, _mixed, (3, 2), (1,)),
            _multi,
            out=BOTH,
            **_rounded,
        ),
        update(
            f"multi_{_mp}lamb_update_all",
            f"_multi_{_mp}lamb_update",
            many(STATES, _mixed, (3, 2), (1,)),
            {**_multi, **PHASE1, "lower_bound": 0.5, "upper_bound": 1.0},
            out=BOTH,
            **_rounded,
        ),
        update(
            f"multi_{_mp}lamb_update_biased",
            f"_multi_{_mp}lamb_update",
            many(STATES, _mixed, (3, 2), (1,)),
            {**_multi, "bias_correction": False},
            out=BOTH,
            **_rounded,
        ),
    ]
_LARS = {
    "lrs": uniform(4),
    "weights_sum_sq": values([1.0, 0.0, 2.0, 3.0]),
    "grads_sum_sq": values([1.0, 2.0, 0.0, 0.5]),
    "wds": uniform(4, high=0.1),
}
CASES += [
    Case("multi_lars", "multi_lars", _LARS, {"eta": 0.5, "eps": 1e-3}, no_grad="MXNet has none"),
    Case(
        "multi_lars_rescaled",
        "multi_lars",
        _LARS,
        {"eta": 0.5, "eps": 1e-3, "rescale_grad": 0.25},
        no_grad="MXNet has none",
    ),
]
