"""Networks on several contexts: the trajectory of each store, and each context's statistics."""

from __future__ import annotations

from typing import Any

from ._facts import fill, numbers, script

#: Optimizers, numbers of contexts, and arguments of trainers by name.
WAYS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "one": ("sgd", 1, {}),
    "two": ("sgd", 2, {}),
    "four": ("sgd", 4, {}),
    "sums": ("sgd", 2, {"update_on_kvstore": False}),
    "local": ("sgd", 2, {"kvstore": "local"}),
    "apart": ("sgd", 2, {"kvstore": None}),
    "adam": ("adam", 2, {}),
    "adam, sums": ("adam", 2, {"update_on_kvstore": False}),
}
ARGUMENTS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.01},
}
ROWS, STEPS = 16, 3


def network(mx: Any, norm: Any, contexts: list[Any]) -> Any:
    """Two dense layers with a normalisation in between, with numbers as contents."""
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3, in_units=4, use_bias=False), norm)
        net.add(mx.gluon.nn.Activation("tanh"), mx.gluon.nn.Dense(2, in_units=3))
    net.initialize(ctx=contexts)
    return fill(net)


def train(
    mx: Any, net: Any, trainer: Any, contexts: list[Any], rows: int = ROWS, steps: int = STEPS
) -> list[Any]:
    """Losses of steps with a batch in equal or almost equal parts."""
    loss, losses, load = mx.gluon.loss.L2Loss(), [], mx.gluon.utils.split_and_load
    for step in range(steps):
        data = load(numbers(f"x{step}", (rows, 4)), contexts, even_split=False)
        label = load(numbers(f"y{step}", (rows, 2)), contexts, even_split=False)
        with mx.autograd.record():
            losses.append([loss(net(x), y) for x, y in zip(data, label, strict=True)])
        for value in losses[-1]:
            value.backward()
        trainer.step(rows)
    return [[value.asnumpy() for value in values] for values in losses]


def state(net: Any) -> list[Any]:
    """Contents on the last context; statistics, and gradients after a step, on all of them."""
    held = net.collect_params()
    seen = [p.list_data()[-1].asnumpy() for p in held.values()]
    seen += [x.asnumpy() for n, p in held.items() if "running" in n for x in p.list_data()]
    learned = [p for p in held.values() if p.grad_req != "null"]
    return seen + [x.asnumpy() for p in learned for x in p.list_grad()]


@script
def trajectories_on_several_contexts(mx):
    seen = {}
    for name, (optimizer, n, options) in WAYS.items():
        contexts = [mx.cpu(k) for k in range(n)]
        net = network(mx, mx.gluon.nn.BatchNorm(in_channels=3), contexts)
        trainer = mx.gluon.Trainer(
            net.collect_params(), optimizer, dict(ARGUMENTS[optimizer]), **options
        )
        seen[name] = [train(mx, net, trainer, contexts), state(net)]
    return seen


@script
def uneven_parts(mx):
    """A last batch that does not divide, and one of the usual size after it."""
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = network(mx, mx.gluon.nn.BatchNorm(in_channels=3), contexts)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", dict(ARGUMENTS["sgd"]))
    rows = (8, 7, 8)
    return [*(train(mx, net, trainer, contexts, r, 1) for r in rows), state(net)]
