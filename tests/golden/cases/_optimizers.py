"""Training runs of every optimizer, with MXNet as ``mx`` once and with executorkit ever after.

``RUNS`` name an optimizer, its arguments and what is special about the run; :func:`run` makes 20
updates of three parameters and returns the weights after some of them and the last states, or the
name of the error that MXNet raises. ``schedules`` are the rates of all learning-rate schedules.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

NAMES = {0: "fc_bias", 1: "fc_weight", 2: "bn_gamma"}
SHAPES = [(1,), (3, 4), (2, 3, 2)]
STEPS = 20
KEPT = (1, 2, 7, 20)


@dataclass(frozen=True)
class Run:
    """``options`` are arguments of the class; ``ways`` say how it is used."""

    name: str
    options: dict = field(default_factory=dict)
    dtype: str = "float32"
    ways: tuple = ()


# Optimizers with their own arguments, by the name of the run.
_OPTIMIZERS = {
    "sgd": ("sgd", {"learning_rate": 0.1}),
    "sgd_momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
    "ccsgd": ("ccsgd", {"learning_rate": 0.1, "momentum": 0.5}),
    "nag": ("nag", {"learning_rate": 0.1}),
    "nag_momentum": ("nag", {"learning_rate": 0.1, "momentum": 0.9}),
    "signum": ("signum", {}),
    "signum_plain": ("signum", {"momentum": 0.0}),
    "signum_decay": ("signum", {"momentum": 0.7, "wd_lh": 0.1, "learning_rate": 0.05}),
    "ftml": ("ftml", {"learning_rate": 0.02}),
    "lars": ("lars", {"learning_rate": 0.5, "eta": 0.1}),
    "lars_momentum": ("lars", {"learning_rate": 0.5, "eta": 0.1, "momentum": 0.9, "eps": 1e-3}),
    "lars_uncorrected": (
        "lars",
        {"learning_rate": 0.5, "eta": 0.1, "momentum": 0.9, "momentum_correction": False},
    ),
    "lbsgd": ("lbsgd", {"learning_rate": 0.1}),
    "lbsgd_momentum": ("lbsgd", {"learning_rate": 0.1, "momentum": 0.9}),
    **{
        f"lbsgd_{strategy}": (
            "lbsgd",
            {
                "learning_rate": 0.05,
                "momentum": 0.5,
                "warmup_strategy": strategy,
                "warmup_epochs": 2,
                "batch_scale": 3,
                "updates_per_epoch": 6,
            },
        )
        for strategy in ("linear", "power2", "sqrt", "lars", "other")
    },
    "lbsgd_epoch": (
        "lbsgd",
        {"learning_rate": 0.1, "batch_scale": 2, "updates_per_epoch": 3, "begin_epoch": 3},
    ),
    "lamb": ("lamb", {"learning_rate": 0.02}),
    "lamb_bounds": ("lamb", {"learning_rate": 0.02, "lower_bound": 1.5, "upper_bound": 2.5}),
    "lamb_biased": ("lamb", {"learning_rate": 0.02, "bias_correction": False, "beta1": 0.8}),
    "dcasgd": ("dcasgd", {"learning_rate": 0.1, "lamda": 0.3}),
    "adam": ("adam", {"learning_rate": 0.01}),
    "adam_betas": ("adam", {"learning_rate": 0.01, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}),
    "adagrad": ("adagrad", {"learning_rate": 0.1}),
    "rmsprop": ("rmsprop", {"learning_rate": 0.01}),
    "rmsprop_centered": ("rmsprop", {"learning_rate": 0.01, "centered": True, "epsilon": 1e-4}),
    "rmsprop_weights": ("rmsprop", {"learning_rate": 0.01, "clip_weights": 0.5}),
    "adadelta": ("adadelta", {}),
    "adadelta_rho": ("adadelta", {"rho": 0.5, "epsilon": 1e-3}),
    "ftrl": ("ftrl", {}),
    "ftrl_lamda": ("ftrl", {"lamda1": 0.5, "beta": 2.0, "learning_rate": 0.3}),
    "adamax": ("adamax", {}),
    "nadam": ("nadam", {"learning_rate": 0.01}),
    "nadam_decay": ("nadam", {"learning_rate": 0.01, "schedule_decay": 0.1}),
    "test": ("test", {"rescale_grad": 0.1}),
    "groupadagrad": ("groupadagrad", {"learning_rate": 0.1}),
}

# Ways of using any of them.
_WAYS = {
    "": ({}, "float32", ()),
    "tuned": ({"wd": 0.05, "clip_gradient": 0.3, "rescale_grad": 0.5}, "float32", ()),
    "factor": ({"wd": 0.01}, "float32", ("factor",)),
    "poly": ({"clip_gradient": 1.0}, "float32", ("poly", "named")),
    "named": ({"wd": 0.1}, "float32", ("named", "multipliers")),
    "indexed": ({"wd": 0.1}, "float32", ("indexed",)),
    "annotated": ({"wd": 0.1}, "float32", ("named", "symbol")),
    "later": ({"begin_num_update": 7, "wd": 0.01}, "float32", ("factor",)),
    "single": ({"wd": 0.01}, "float32", ("single", "named", "factor")),
    "mixed": ({"multi_precision": True, "wd": 0.05}, "float16", ("named",)),
    "half": ({"wd": 0.05}, "float16", ()),
    "double": ({"wd": 0.05, "clip_gradient": 0.8}, "float64", ("factor",)),
}

RUNS = {
    f"{key}|{way}": Run(name, {**options, **way_options}, dtype, ways)
    for key, (name, options) in _OPTIMIZERS.items()
    for way, (way_options, dtype, ways) in _WAYS.items()
    if not (name == "groupadagrad" and "wd" in way_options)
}


def scheduler(mx, kind, base_lr):
    """A schedule that changes the rate within 20 updates."""
    if kind == "factor":
        return mx.lr_scheduler.FactorScheduler(3, 0.7, base_lr=base_lr, stop_factor_lr=base_lr / 5)
    return mx.lr_scheduler.PolyScheduler(
        15, base_lr, 2, base_lr / 10, warmup_steps=4, warmup_begin_lr=base_lr / 3
    )


def make(mx, case):
    """The optimizer of a run."""
    options = dict(case.options)
    base_lr = options.get("learning_rate", 0.1)
    for kind in ("factor", "poly"):
        if kind in case.ways:
            options["lr_scheduler"] = scheduler(mx, kind, base_lr)
            if case.name == "ftrl":
                options.pop("learning_rate", None)
            else:
                options["learning_rate"] = base_lr
    if "named" in case.ways:
        options["param_idx2name"] = NAMES
    if "symbol" in case.ways:
        fc = mx.sym.FullyConnected(
            mx.sym.var("data"),
            mx.sym.var("fc_weight", lr_mult=0.5, wd_mult=3.0),
            mx.sym.var("fc_bias", wd_mult=0.5),
            num_hidden=3,
            name="fc",
        )
        options["sym"] = fc
    optimizer = mx.optimizer.create(case.name, **options)
    if "multipliers" in case.ways:
        optimizer.set_lr_mult({"fc_weight": 0.25})
        optimizer.set_wd_mult({"fc_bias": 2.0, "bn_gamma": 0.5})
    if "indexed" in case.ways:
        optimizer.set_lr_mult({0: 0.25})
        optimizer.set_wd_mult({2: 0.0})
    return optimizer


def shapes_of(case):
    """Shapes of the parameters by index; only matrices for the optimizer of rows."""
    return {i: s for i, s in enumerate(SHAPES) if case.name != "groupadagrad" or len(s) == 2}


def values(case):
    """The first weights and all gradients of a run, by index."""
    rng = np.random.RandomState(7)
    shapes = shapes_of(case)
    weights = {i: rng.randn(*s).astype(case.dtype) for i, s in shapes.items()}
    grads = [{i: rng.randn(*s).astype(case.dtype) for i, s in shapes.items()} for _ in range(STEPS)]
    return weights, grads


def _flat(state):
    if state is None:
        return []
    if isinstance(state, tuple | list):
        return [x for s in state for x in _flat(s)]
    return [state.asnumpy()]


def train(mx, updater, case, steps=range(STEPS), weights=None):
    """Makes some of a run's updates; yields the step and the weights by index after each."""
    first, grads = values(case)
    if weights is None:
        weights = {i: mx.nd.array(w, dtype=case.dtype) for i, w in first.items()}
    for step in steps:
        now = {i: mx.nd.array(g, dtype=case.dtype) for i, g in grads[step].items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "single" in case.ways:
                for i in weights:
                    updater(i, now[i], weights[i])
            else:
                updater(list(weights), list(now.values()), list(weights.values()))
        yield step + 1, weights


def new_updater(mx, case):
    """An updater of the run's optimizer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mx.optimizer.get_updater(make(mx, case))


def run(mx, case, part=lambda case, state: state):
    """Weights at some steps and (part of) the last states, by name; then two counts."""
    updater = new_updater(mx, case)
    trajectory = {}
    for step, weights in train(mx, updater, case):
        if step in KEPT:
            trajectory.update({f"{step}/{i}": w.asnumpy() for i, w in weights.items()})
    for i in shapes_of(case):
        for n, x in enumerate(_flat(part(case, updater.states[i]))):
            trajectory[f"state/{i}/{n}"] = x
    optimizer = updater.optimizer
    return trajectory, [optimizer.num_update, float(optimizer.learning_rate)]


def joined(parts_by_name):
    """All parts one after the other in one vector, as they are stored."""
    parts = [parts_by_name[name].ravel() for name in sorted(parts_by_name)]
    return np.concatenate([x.astype(np.promote_types(x.dtype, "float32")) for x in parts])


def states(mx, case, with_optimizer):
    """The states of a run after half of its updates, as the updater saves them."""
    updater = new_updater(mx, case)
    for _ in train(mx, updater, case, range(STEPS // 2)):
        pass
    return updater.get_states(with_optimizer)


def _schedulers(mx):
    lr = mx.lr_scheduler
    warm = {"warmup_steps": 5, "warmup_begin_lr": 0.02}
    constant = {**warm, "warmup_mode": "constant"}
    return {
        "factor": lr.FactorScheduler(4, 0.5, base_lr=0.3),
        "factor_stop": lr.FactorScheduler(2, 0.3, 0.01, 0.3),
        "factor_low": lr.FactorScheduler(3, 0.5, 0.5, 0.3),
        "factor_warm": lr.FactorScheduler(3, 0.5, base_lr=0.3, **warm),
        "factor_constant": lr.FactorScheduler(3, 0.5, base_lr=0.3, **constant),
        "multi": lr.MultiFactorScheduler([3, 8, 9, 17], 0.4, 0.3),
        "multi_warm": lr.MultiFactorScheduler([3, 8, 17], 0.4, 0.3, **warm),
        "poly": lr.PolyScheduler(20, 0.3),
        "poly_power": lr.PolyScheduler(20, 0.3, 0.5, 0.01),
        "poly_warm": lr.PolyScheduler(20, 0.3, 3, 0.01, **warm),
        "cosine": lr.CosineScheduler(20, 0.3),
        "cosine_final": lr.CosineScheduler(25, 0.3, 0.05),
        "cosine_warm": lr.CosineScheduler(20, 0.3, 0.05, **constant),
    }


def schedules(mx):
    """The rates of each schedule at updates 0 to 29, and its attributes after update 11."""
    rates, attributes = {}, {}
    for name in _schedulers(mx):
        one = _schedulers(mx)[name]
        rates[name] = []
        for n in range(30):
            rates[name].append(one(n))
            if n == 11:
                attributes[name] = dict(sorted(one.__dict__.items()))
    return rates, attributes


def make_scheduler(mx, name):
    """One of the schedules that ``schedules`` has rates of."""
    return _schedulers(mx)[name]


#: First words of the errors that are schedules'.
SCHEDULE_WORDS = ("warm-up", "factor", "multi", "poly", "cosine")

#: Calls that must raise, with MXNet's class of error.
ERRORS = {
    "create: unknown": lambda mx: mx.optimizer.create("agd"),
    "param_idx2name": lambda mx: mx.optimizer.create("sgd", param_idx2name=["a"]),
    "unknown argument": lambda mx: mx.optimizer.create("sgd", momentm=0.9),
    "set_learning_rate": lambda mx: mx.optimizer.create(
        "sgd", lr_scheduler=mx.lr_scheduler.FactorScheduler(2)
    ).set_learning_rate(0.1),
    "set_lr_scale": lambda mx: mx.optimizer.create("sgd").set_lr_scale({}),
    "no update": lambda mx: mx.optimizer.Optimizer().update(
        0, mx.nd.ones((1,)), mx.nd.ones((1,)), None
    ),
    "no arrays": lambda mx: mx.optimizer.create("adam").update(0, 1.0, 2.0, None),
    "register": lambda mx: mx.optimizer.register("sgd"),
    "row decay": lambda mx: mx.optimizer.get_updater(mx.optimizer.create("groupadagrad", wd=0.1))(
        0, mx.nd.ones((2, 2)), mx.nd.ones((2, 2))
    ),
    "row shape": lambda mx: mx.optimizer.create("groupadagrad").create_state(0, mx.nd.ones((2,))),
    "warm-up too high": lambda mx: mx.lr_scheduler.FactorScheduler(2, warmup_begin_lr=1.0),
    "warm-up steps": lambda mx: mx.lr_scheduler.FactorScheduler(2, warmup_steps=-1),
    "warm-up float": lambda mx: mx.lr_scheduler.FactorScheduler(2, warmup_steps=1.5),
    "warm-up mode": lambda mx: mx.lr_scheduler.FactorScheduler(2, warmup_mode="slow"),
    "warm-up over": lambda mx: mx.lr_scheduler.FactorScheduler(2).get_warmup_lr(3),
    "factor step": lambda mx: mx.lr_scheduler.FactorScheduler(0),
    "factor factor": lambda mx: mx.lr_scheduler.FactorScheduler(1, 2),
    "multi list": lambda mx: mx.lr_scheduler.MultiFactorScheduler((3, 4)),
    "multi empty": lambda mx: mx.lr_scheduler.MultiFactorScheduler([]),
    "multi order": lambda mx: mx.lr_scheduler.MultiFactorScheduler([4, 3]),
    "multi zero": lambda mx: mx.lr_scheduler.MultiFactorScheduler([0, 3]),
    "multi factor": lambda mx: mx.lr_scheduler.MultiFactorScheduler([1, 3], 1.5),
    "poly float": lambda mx: mx.lr_scheduler.PolyScheduler(10.0),
    "poly zero": lambda mx: mx.lr_scheduler.PolyScheduler(0),
    "cosine zero": lambda mx: mx.lr_scheduler.CosineScheduler(0),
    "no schedule": lambda mx: mx.lr_scheduler.LRScheduler()(1),
}
