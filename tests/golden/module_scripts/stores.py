"""Stores that modules have to ask: those that compress gradients, and those of users' classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, batch, bound, contexts, losses, mlp, script, trained


def _trained(mx: Any, count: int, store: Any, **options: Any) -> Any:
    module = bound(mx, mlp(mx), context=contexts(mx, count))
    module.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.5, **options})
    seen = losses(module, [batch(mx, i) for i in range(3)], 6, mx.metric.create("ce"))
    return {"losses": seen, "params": trained(module)}


@script
def gradients_are_compressed(mx: Any) -> Any:
    answers = {}
    for count in (1, 2):
        store = mx.kv.create("device")
        store.set_gradient_compression({"type": "2bit", "threshold": 0.1})
        answers[f"{count} devices"] = _trained(mx, count, store, momentum=0.5)
    module = mx.mod.Module(
        mlp(mx), context=contexts(mx, 2), compression_params={"type": "2bit", "threshold": 0.1}
    )
    module.bind([("data", (8, 5))], [("softmax_label", (8,))])
    module.init_params(mx.init.Constant(0.1))
    module.init_optimizer(kvstore="device", optimizer_params={"learning_rate": 0.5})
    one = batch(mx, 0)
    module.forward_backward(one)
    module.update()
    return {**answers, "argument": trained(module)}


def _total(arrays: list[Any]) -> Any:
    """Sum of arrays on several contexts."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array.as_in_context(total.context)
    return total


def _assign(arrays: list[Any], value: Any) -> None:
    for array in arrays:
        array[:] = value


def _store(mx: Any, updates: bool) -> Any:
    """A store of a user's class, which takes lists for lists, and notes what it is asked."""

    class Noting(mx.kv.KVStoreBase):
        def __init__(self) -> None:
            self.calls: list[Any] = []
            self.weights: dict[Any, Any] = {}
            self.updater: Any = None

        def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
            self.calls.append(["broadcast", str(key), type(out).__name__])
            self.weights[key] = value.copy()
            _assign(out, value)

        def init(self, key: Any, value: Any) -> None:
            self.calls.append(["init", str(key)])

        def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
            self.calls.append(["pushpull", str(key), type(value).__name__, len(value), priority])
            total = _total(value)
            if self.updater is not None:
                self.updater(key, total, self.weights[key])
                total = self.weights[key]
            _assign(value if out is None else out, total)

        def set_optimizer(self, optimizer: Any) -> None:
            self.updater = mx.optimizer.get_updater(optimizer)

        @staticmethod
        def is_capable(capability: str) -> bool:
            return updates

        @property
        def type(self) -> str:
            return "noting"

        @property
        def rank(self) -> int:
            return 0

        @property
        def num_workers(self) -> int:
            return 1

    return Noting()


@script
def stores_of_users_get_lists(mx: Any) -> Any:
    answers = {}
    for count in (1, 2):
        for updates in (False, True):
            store = _store(mx, updates)
            seen = _trained(mx, count, store, momentum=0.5)
            answers[f"{count} {updates}"] = {**seen, "calls": store.calls[:9]}
    return answers


@script
def the_smallest_store(mx: Any) -> Any:
    store = mx.kv.create("teststore")
    first, second = (mx.nd.zeros((3,), ctx) for ctx in contexts(mx, 2))
    store.broadcast("a", mx.nd.ones((3,)) * 2, out=[first, second])
    seen = [first.asnumpy(), second.asnumpy()]
    store.pushpull("a", [first, second])
    seen += [first.asnumpy(), second.asnumpy()]
    store.pushpull("a", [first, second], out=[first])
    seen += [first.asnumpy(), second.asnumpy()]
    return {
        "arrays": np.array(seen),
        "names": [store.type, store.rank, store.num_workers, store.is_capable("optimizer")],
        "refused": attempt(mx, lambda: store.is_capable("zz")),
    }
