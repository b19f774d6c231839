"""Cost of a training step beside the hand-written, donated one, and beside MXNet's.

python -m benchmarks.bench_training [--only lstm] [--pairs 60]
python -m benchmarks.bench_training --remat

Steps are that of ``Module.fit`` (forward_backward, update, update_metric), ``training.Step`` and a
``jax.jit`` function with the same optax transformation, which donates the arrays that it replaces.
Memory is XLA's sum for the one program of a step: arguments, outputs and temporaries, donated
arrays counted once. ``--remat`` prints the memory of steps that recompute activations.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import jax
import numpy as np
import optax

import executorkit as mx
from executorkit.display import text_table
from executorkit.program import Analysis, CompiledFunction

from ._fitting import MOMENTUM, RATE, module_step
from ._handwritten import FORWARD, trained
from ._measure import ORACLE, Oracle
from ._networks import Network, network
from ._timing import time_in_pairs
from ._workers import PAUSE, timed, wake

NETWORKS = (("mlp", 64), ("mlp", 1024), ("lenet", 32), ("lstm", 32))
#: Networks, batches and pixels of a side, for the memory with and without remat.
REMAT = (("lenet", 128, 28), ("lstm", 32, 28), ("resnet50", 8, 64))
#: Number of steps after which all parameters have to agree.
STEPS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names to measure")
    parser.add_argument("--pairs", type=int, default=60, help="number of steady steps of each")
    parser.add_argument("--remat", action="store_true", help="memory with and without remat")
    options = parser.parse_args()
    print(f"JAX {jax.__version__}, {os.cpu_count()} cores\n")
    rows: list[list[str]] = []
    if options.remat:
        for name, batch, size in REMAT:
            if options.only in name:
                rows += _remat(name, batch, size)
        print(text_table(["network", "remat", "temporaries", "peak"], rows, right={2, 3}))
        return
    with mx.program.options(interpret=False):  # steady steps are measured
        for name, batch in NETWORKS:
            if options.only in name:
                rows += _rows(name, batch, options.pairs)
    header = ["network", "step", "time", "by hand / ours", "MXNet / ours", "memory",
              "by hand / ours", "programs"]  # fmt: skip
    print(text_table(header, rows, right={2, 3, 4, 5, 6, 7}))


def _rows(name: str, batch: int, pairs: int) -> list[list[str]]:
    """The rows of one network: the step of fit, of Step, and of the hand-written function."""
    net = network(name, batch, 28)
    hand = _ByHand(name, net)
    mx.program.clear_cache()  # so that each compiles its programs
    module, metric, run = module_step(mx, net)

    arguments = module.core.execs[0].arg_dict
    weights = [array for name, array in arguments.items() if name not in net.shapes]

    def fit() -> Any:
        run()
        # The metric's sums have no public name; reading its value would copy them to the host.
        return [weight.value for weight in weights], metric._device_tallies

    mx.program.clear_cache()
    executor, step = _step(net)
    inputs = {n: mx.nd.array(v) for n, v in net.inputs().items()}

    def fused() -> Any:
        step(**inputs)
        return [executor.arg_dict[n].value for n in step.names]

    label = f"{name}, {batch} rows"
    rows = []
    with module.discard_gradients():
        for _ in range(STEPS):
            for run_once in (hand, fit, fused):
                run_once()
        _check_equal(hand.parameters, module.get_params()[0], "Module")
        _check_equal(hand.parameters, step.params, "Step")
        by_hand = hand.analysis()
        of_fit = _steps_of(module)
        for step_name, ours, analysis in (
            ("Module.fit", fit, of_fit),
            ("Step", fused, step.analyse()),
        ):
            times = time_in_pairs(ours, hand, pairs)
            ratio = ""
            if step_name == "Module.fit" and ORACLE in os.environ:
                oracle = Oracle("benchmarks._fitting", name, str(batch))
                ratio = f"{_beside(ours, oracle, max(10, pairs // 2)):.2f}"
                oracle.end()
            rows.append(
                [label, step_name, _ms(times.ours), f"{times.ratio:.2f}", ratio,
                 _mb(_peak(analysis)), f"{_peak(by_hand) / _peak(analysis):.2f}", _programs(ours)]
            )  # fmt: skip
    rows.append([label, "by hand", _ms(times.theirs), "", "", _mb(_peak(by_hand)), "", "1"])
    return rows


def _beside(ours: Callable[[], Any], oracle: Oracle, pairs: int) -> float:
    """Median of MXNet's time / ours over pairs of runs of several steps each. Pauses let MXNet's
    idle threads fall asleep."""

    def waited() -> None:
        jax.block_until_ready(ours())

    calls = max(1, min(50, int(0.02 / timed(waited))))
    ratios = []
    for _ in range(pairs):
        time.sleep(PAUSE)
        wake(waited)
        our_time = timed(waited, calls)
        wake(partial(oracle.seconds, "step"))
        ratios.append(oracle.seconds("step", calls) / our_time)
    return median(ratios)


class _ByHand:
    """The hand-written step with its parameters."""

    def __init__(self, name: str, net: Network) -> None:
        executor = net.filled(mx, net.build(mx))
        tx = optax.sgd(RATE, MOMENTUM)
        self.parameters = {n: a + 0 for n, a in executor.params().items()}
        self.state = tx.init(self.parameters)
        self.states = {n: a.jax + 0 for n, a in executor.aux_dict.items()}
        self.inputs = {n: mx.nd.array(v).jax for n, v in net.inputs().items()}
        self.function = trained(FORWARD[name], tx)

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return self.parameters, self.state, self.states, self.inputs

    def __call__(self) -> Any:
        self.parameters, self.state, self.states, outputs = self.function(*self._arguments)
        return self.parameters, outputs

    def analysis(self) -> Analysis:
        return Analysis.of("step", self.function.lower(*self._arguments).compile())


def _step(net: Network, **options: Any) -> tuple[Any, mx.training.Step]:
    executor = net.filled(mx, net.build(mx))
    rows = next(iter(net.shapes.values()))[0]
    step = mx.training.Step(executor, optax.sgd(RATE, MOMENTUM), rescale_grad=1 / rows, **options)
    return executor, step


def _remat(name: str, batch: int, size: int) -> Iterator[list[str]]:
    """Rows of the memory of a step: all residuals stored, some, and none."""
    net = network(name, batch, size)
    for remat in (None, "mirror", "full"):
        _, step = _step(net, remat=remat)
        step(**{n: mx.nd.array(v) for n, v in net.inputs().items()})
        memory = step.analyse().memory or {}
        yield [f"{name}, {batch} rows", str(remat), _mb(memory["temporaries"]), _mb(memory["peak"])]


def _steps_of(module: Any) -> Analysis:
    """XLA's analysis of the one program that a module's steps ran."""
    program = module.core.execs[0].program
    (function,) = (f for f in program.functions if f.traces)
    return Analysis.of(function.name, function.compile(*function.avals))


def _programs(step: Callable[[], Any]) -> str:
    """The compiled programs that a step runs, by their names."""
    names: list[str] = []
    methods = {name: getattr(CompiledFunction, name) for name in ("__call__", "call_into")}

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: CompiledFunction, *args: Any) -> Any:
            names.append(self.name)
            return method(self, *args)

        return counted

    for name, method in methods.items():
        setattr(CompiledFunction, name, counting(method))
    try:
        step()
    finally:
        for name, method in methods.items():
            setattr(CompiledFunction, name, method)
    return " + ".join(names)


def _check_equal(expected: dict[str, Any], actual: dict[str, Any], what: str) -> None:
    for n, value in expected.items():
        ours = np.asarray(
            actual[n].asnumpy() if isinstance(actual[n], mx.nd.NDArray) else actual[n]
        )
        np.testing.assert_allclose(ours, value, 1e-3, 1e-4, err_msg=f"{what}: {n}")


def _peak(analysis: Analysis) -> int:
    assert analysis.memory is not None
    return analysis.memory["peak"]


def _ms(value: float) -> str:
    return f"{value * 1e3:,.2f} ms"


def _mb(value: float) -> str:
    return f"{value / 2**20:,.2f} MiB"


if __name__ == "__main__":
    main()
