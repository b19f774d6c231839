"""Smoke tests of a device: golden cases of operators, small networks, small trainings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

import executorkit as mx
from tests._tools import golden as _golden
from tests.golden.cases._case import Case

from ._handwritten import functions
from ._measure import Ours, check
from ._networks import network
from ._new_shapes import perceptron
from ._recorded_loops import LOOPS, Loop

#: Number of cases of each family of operators, and their tolerance, relative to the largest number
#: of an array: devices have approximations of their own.
CASES, RTOL = 3, 1e-4
#: Networks with their sizes: rows or pictures, and pixels of a side or steps.
NETWORKS = (("mlp", (8, 28)), ("lenet", (4, 28)), ("lstm", (4, 5)), ("resnet50", (1, 96)))
#: Iterations of a recorded loop.
ITERATIONS = 3
InTime = Callable[[str], bool]


def operators(in_time: InTime) -> Iterator[list[str]]:
    """A line for each golden case that fails, and one with the number of those that agree."""
    count = agree = 0
    for family in _golden.families():
        if not in_time(f"operators of {family}"):
            continue
        cases = [c for c in _golden.cases(family) if "float32" in c.dtypes]
        for case in cases[:: max(1, len(cases) // CASES)][:CASES]:
            count += 1
            problem = _problem(family, case)
            agree += not problem
            if problem:
                yield [f"{family}: {case.name}", f"FAILS: {problem}", ""]
    yield ["golden cases of operators", f"{agree} of {count} agree with MXNet", ""]


def _problem(family: str, case: Case) -> str:
    """The difference from MXNet's answer, in a line; empty if there is none."""
    stored, key = _golden.answers(family), case.key("float32")
    case = replace(case, rtol=max(RTOL, case.rtol or 0))
    try:
        with jax.default_matmul_precision("highest"):
            result = (_golden.run_eager if case.eager else _golden.run_case)(case, "float32")
    except Exception as error:  # a line of the table, as a wrong result
        return one_line(error)
    problems = _golden.compare(result, case, key, stored, stored.facts[key])
    return problems[0][:90] if problems else ""


def one_line(error: Exception) -> str:
    """The class of an error, and the begin of its message."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:90]


def networks(in_time: InTime) -> Iterator[list[str]]:
    """Inference and gradients of small networks, compared with the hand-written ones."""
    for name, sizes in NETWORKS:
        if not in_time(f"smoke test of {name}"):
            continue
        start = time.perf_counter()
        try:
            with jax.default_matmul_precision("highest"):
                _compare(name, sizes)
            result = "inference and gradients agree with hand-written JAX"
        except Exception as error:  # as above
            result = f"FAILS: {one_line(error)}"
        yield [f"network {name}", result, f"{time.perf_counter() - start:.1f} s"]


def _compare(name: str, sizes: tuple[int, int]) -> None:
    side = Ours(network(name, *sizes))
    by_hand: tuple[Any, Any] = functions(name)
    infer, step = by_hand
    check(np.asarray(side.forward()), infer(*side.arrays), f"{name}: outputs")
    side.step()
    for n, expected in step(*side.arrays)[1].items():
        check(side.executor.grad_dict[n].asnumpy(), expected, f"{name}: {n}")
    platforms = {a.jax.device.platform for a in side.executor.outputs}
    if platforms != {jax.devices()[0].platform}:
        raise RuntimeError(f"{name}: outputs are on {platforms}")


def trainings(contexts: Sequence[mx.Context], in_time: InTime) -> Iterator[list[str]]:
    """``Module.fit`` on the first device and, if there are more, on all of them."""
    results = []
    for used in [contexts[:1], contexts] if len(contexts) > 1 else [contexts]:
        title = f"Module.fit on {len(used)} devices" if len(used) > 1 else "Module.fit on a device"
        if not in_time(title):
            continue
        start = time.perf_counter()
        try:
            accuracy, parameters = _train(list(used))
            results.append(parameters)
            result = f"accuracy {accuracy:.2f}"
            if accuracy < 0.9:
                result = f"FAILS: {result}, expected 0.9"
            for n, alone in results[0].items():
                check(parameters[n], alone, f"{n} of one device")
        except Exception as error:  # as above
            result = f"FAILS: {one_line(error)}"
        yield [title, result, f"{time.perf_counter() - start:.1f} s"]


def _train(contexts: list[mx.Context]) -> tuple[float, dict[str, np.ndarray]]:
    """Accuracy and parameters of a perceptron that has learnt which half of a row is larger."""
    random = np.random.RandomState(0)
    rows = random.standard_normal((512, 8)).astype(np.float32)
    labels = (rows[:, :4].sum(1) > rows[:, 4:].sum(1)).astype(np.float32)
    batches = mx.io.NDArrayIter(rows, labels, 32)
    np.random.seed(0)
    mx.random.seed(0)
    module = mx.mod.Module(perceptron(mx, 16), context=contexts)
    module.fit(
        batches, num_epoch=5, optimizer_params={"learning_rate": 0.5},
        initializer=mx.init.Xavier(), kvstore="device" if len(contexts) > 1 else None,
    )  # fmt: skip
    parameters, _ = module.get_params()
    return module.score(batches, "acc")[0][1], {n: a.asnumpy() for n, a in parameters.items()}


def recorded_loops(context: mx.Context, in_time: InTime) -> Iterator[list[str]]:
    """The loops of bench_autograd on a device, compared with those on a CPU."""
    for title, loop in LOOPS.items():
        if not in_time(f"smoke test of {title}"):
            continue
        start = time.perf_counter()
        try:
            with jax.default_matmul_precision("highest"):
                on_cpu, on_device = (_iterated(loop, c) for c in (mx.cpu(), context))
            for theirs, ours in zip(on_cpu, on_device, strict=True):
                check(ours, theirs, title)
            result = "agrees with a CPU"
        except Exception as error:  # as above
            result = f"FAILS: {one_line(error)}"
        yield [title, result, f"{time.perf_counter() - start:.1f} s"]


def _iterated(loop: Loop, context: mx.Context) -> list[np.ndarray]:
    """What the first iterations return, where they return anything."""
    with context:
        iteration = loop.iteration(mx, "plain")
        results = [iteration() for _ in range(ITERATIONS)]
        mx.nd.waitall()
        return [
            np.asarray(r if isinstance(r, np.ndarray) else r.asnumpy())
            for r in results
            if r is not None
        ]
