"""Ways of training, and exceptions at any event of one of their steps.

Each way is a small network with BatchNorm and Dropout that takes steps of its own. Its ``state`` is
everything that a step changes. A second training of the same kind is never interrupted: after an
exception the state has to be the one before the step or the one after it, bit for bit.
"""

from __future__ import annotations

import dis
import gc
import inspect
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any

import jax
import numpy as np
import optax

import executorkit as mx

BATCHES = 7
ROWS, FEATURES = 4, 3


@cache
def signal_places(code: CodeType) -> frozenset[int]:
    """The offsets of bytecodes before which Python handles signals: it does so as a function
    begins, after each call and before a loop goes round again."""
    places, follows = set(), False
    for instruction in dis.get_instructions(code):
        if follows:
            places.add(instruction.offset)
        name = instruction.opname
        follows = name == "RESUME" or name.startswith("CALL")
        if "JUMP_BACKWARD" in name:
            places.add(instruction.argval)
    return frozenset(places)


def is_ignored(frame: FrameType | None) -> bool:
    """True if Python reports an exception of a frame and goes on: in callbacks of weak references
    and of the collector, in finalizers, and in all that they call."""
    collector = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        code = frame.f_code
        if code.co_filename == weakref.__file__ or code.co_name in ("_remove", "__del__"):
            return True
        if code in collector:
            return True
        frame = frame.f_back
    return False


class Interrupter:
    """Raises an exception at one event of a function.

    at
        number of the event, from 1. If Python would ignore the exception there, the next event at
        which it does not.
    events
        'signal' (a bytecode before which Python handles signals), 'line' or 'call'. At other
        bytecodes no KeyboardInterrupt comes, and the interpreter does not expect one: a ``with``
        may be left without its ``__exit__``.
    only
        part of the file names in which events are counted.
    """

    def __init__(
        self,
        at: int,
        events: str = "signal",
        only: str = "",
        exception: type[BaseException] = KeyboardInterrupt,
    ) -> None:
        self._at = at
        self._events = events
        self._only = only
        self._exception = exception
        self._count = 0
        self.place: tuple[str, int, str] | None = None

    def run(self, function: Callable[[], Any]) -> bool:
        """Calls the function; True if the exception was raised, False if it has fewer events."""
        sys.settrace(self._trace)
        try:
            function()
        except BaseException:  # JAX may answer the exception by one of its own
            if self.place is None:
                raise
        finally:
            sys.settrace(None)
        return self.place is not None

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self.place is not None:
            return None
        code = frame.f_code
        at_signals = self._events == "signal"
        frame.f_trace_opcodes = at_signals
        frame.f_trace_lines = self._events == "line"
        if at_signals:
            counts = event == "opcode" and frame.f_lasti in signal_places(code)
        else:
            # An abandoned generator is called to be closed, and Python ignores its exceptions.
            counts = event == self._events and not code.co_flags & inspect.CO_GENERATOR
        if counts and self._only in code.co_filename:
            self._count += 1
            if self._count >= self._at and not is_ignored(frame):
                self.place = code.co_filename, frame.f_lineno, code.co_name
                raise self._exception("injected")
        return self._trace


def network(prefix: str = "") -> mx.sym.Symbol:
    """Two layers with BatchNorm and Dropout in between."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name=prefix + "fc1")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name=prefix + "bn")
    net = mx.sym.Dropout(net, p=0.3, name=prefix + "dropout")
    net = mx.sym.FullyConnected(net, num_hidden=2, name=prefix + "fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def batches() -> list[mx.io.DataBatch]:
    """A few batches of numbers."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(BATCHES, ROWS, FEATURES)).astype("float32")
    labels = rng.integers(0, 2, (BATCHES, ROWS)).astype("float32")
    return [
        mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)], bucket_key=3, provide_data=None)
        for x, y in zip(data, labels, strict=True)
    ]


def parameters(symbol: mx.sym.Symbol) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and auxiliary states to begin with."""
    rng = np.random.default_rng(1)
    arg_shapes, _, aux_shapes = symbol.infer_shape(data=(ROWS, FEATURES))
    args = {
        name: mx.nd.array(rng.normal(size=shape))
        for name, shape in zip(symbol.list_arguments(), arg_shapes, strict=True)
        if name not in ("data", "softmax_label")
    }
    aux_names = symbol.list_auxiliary_states()
    aux = {n: mx.nd.ones(s) for n, s in zip(aux_names, aux_shapes, strict=True)}
    return args, aux


def adam() -> mx.optimizer.Optimizer:
    """Adam with a schedule that has a state."""
    scheduler = mx.lr_scheduler.FactorScheduler(2, 0.9)
    return mx.optimizer.create(
        "adam", learning_rate=0.01, lr_scheduler=scheduler, rescale_grad=1 / ROWS
    )


def optimizer_state(optimizer: mx.optimizer.Optimizer, states: Any) -> dict[str, Any]:
    """The counts of an optimizer, its schedule, and the states of the parameters."""
    counts = {k: dict(v) for k, v in optimizer._all_index_update_counts.items()}
    scheduler = dict(vars(optimizer.lr_scheduler)) if optimizer.lr_scheduler else None
    return {
        "num_update": optimizer.num_update,
        "counts": counts,
        "scheduler": scheduler,
        "states": as_numpy(states),
    }


def as_numpy(tree: Any) -> Any:
    """A tree of arrays with NumPy arrays in their place."""
    if isinstance(tree, dict):
        return {str(k): as_numpy(v) for k, v in tree.items()}
    if isinstance(tree, mx.nd.NDArray):
        return tree.asnumpy()
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        return [as_numpy(x) for x in tree]
    return None if tree is None else np.asarray(tree)


class ModuleTraining:
    """``Module``, by batches as ``fit`` takes them."""

    def __init__(
        self,
        contexts: Sequence[mx.Context] = (mx.cpu(),),
        kvstore: str | None = "local",
        work_load_list: Sequence[int] | None = None,
        optimizer: Callable[[], mx.optimizer.Optimizer] = adam,
    ) -> None:
        self.batches = batches()
        self.module = self.make(list(contexts), work_load_list)
        self.module.bind([("data", (ROWS, FEATURES))], [("softmax_label", (ROWS,))])
        mx.random.seed(3)
        self.initialize()
        self.module.init_optimizer(kvstore=kvstore, optimizer=optimizer())

    def make(self, contexts: list[mx.Context], work_load_list: Any) -> Any:
        """The module."""
        return mx.mod.Module(network(), context=contexts, work_load_list=work_load_list)

    def initialize(self) -> None:
        """Sets the parameters."""
        self.module.init_params(None, *parameters(network()))

    def step(self, number: int) -> None:
        """Takes a step on one of the batches."""
        self.module._train_batch(self.batches[number % BATCHES])

    def state(self) -> dict[str, Any]:
        """Everything that a step changes."""
        args, aux = self.module.get_params()
        optimizer = self.module._optimizer
        state = {"args": as_numpy(args), "aux": as_numpy(aux), "random": mx.random.get_state()}
        return state | optimizer_state(optimizer, self.module._updater.states)


class BucketingTraining(ModuleTraining):
    """``BucketingModule``."""

    def make(self, contexts: list[mx.Context], work_load_list: Any) -> Any:
        def generate(key: int) -> Any:
            return network(), ("data",), ("softmax_label",)

        return mx.mod.BucketingModule(generate, default_bucket_key=3, context=contexts)

    def step(self, number: int) -> None:
        """Takes a step on one of the batches."""
        batch = self.batches[number % BATCHES]
        batch.provide_data = [mx.io.DataDesc("data", (ROWS, FEATURES))]
        batch.provide_label = [mx.io.DataDesc("softmax_label", (ROWS,))]
        self.module._train_batch(batch)

    def state(self) -> dict[str, Any]:
        """Everything that a step changes."""
        module = self.module._curr_module
        args, aux = self.module.get_params()
        state = {"args": as_numpy(args), "aux": as_numpy(aux), "random": mx.random.get_state()}
        return state | optimizer_state(module._optimizer, module._updater.states)


class SequentialTraining(ModuleTraining):
    """``SequentialModule`` of two modules."""

    def make(self, contexts: list[mx.Context], work_load_list: Any) -> Any:
        first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="a")
        first = mx.sym.BatchNorm(first, fix_gamma=False, name="abn")
        chain = mx.mod.SequentialModule()
        chain.add(mx.mod.Module(first, label_names=None, context=contexts))
        return chain.add(
            mx.mod.Module(network("b_"), context=contexts), take_labels=True, auto_wiring=True
        )

    def initialize(self) -> None:
        """Sets the parameters."""
        for module in self.module._modules:
            symbol = module.symbol
            module.init_params(None, *parameters(symbol))
        self.module.params_initialized = True

    def state(self) -> dict[str, Any]:
        """Everything that a step changes."""
        args, aux = self.module.get_params()
        state = {"args": as_numpy(args), "aux": as_numpy(aux), "random": mx.random.get_state()}
        for k, module in enumerate(self.module._modules):
            state[str(k)] = optimizer_state(module._optimizer, module._updater.states)
        return state


class StepTraining(ModuleTraining):
    """``training.Step`` on a module's group, by one of optax's or MXNet's optimizers."""

    def __init__(self, optimizer: Callable[[], Any], **arguments: Any) -> None:
        options = arguments.pop("step", {})
        super().__init__(**arguments)
        self.training_step = mx.training.Step(self.module, optimizer(), **options)

    def step(self, number: int) -> None:
        """Takes a step on one of the batches."""
        batch = self.batches[number % BATCHES]
        self.training_step(data=batch.data[0], softmax_label=batch.label[0])

    def state(self) -> dict[str, Any]:
        """Everything that a step changes."""
        step = self.training_step
        args, aux = self.module.get_params()
        state = {"args": as_numpy(args), "aux": as_numpy(aux), "random": mx.random.get_state()}
        if step.optimizer is not None:
            return state | optimizer_state(step.optimizer, step.opt_state)
        return state | {"states": as_numpy(jax.tree.leaves(step.opt_state))}


class UpdaterTraining:
    """A plain loop with an updater that is given all parameters; its update is the step.

    look
        whether gradients are looked at between backward and the update.
    """

    def __init__(
        self,
        look: bool = False,
        optimizer: Callable[[], mx.optimizer.Optimizer] = adam,
        dtype: str = "float32",
    ) -> None:
        self.batches = batches()
        self.look = look
        symbol = network()
        names = symbol.list_arguments()
        requests = {n: "null" if n in ("data", "softmax_label") else "write" for n in names}
        shapes = {"data": (ROWS, FEATURES), "softmax_label": (ROWS,)}
        types = {"data": dtype}
        self.executor = symbol.simple_bind(mx.cpu(), grad_req=requests, type_dict=types, **shapes)
        self.executor.copy_params_from(*parameters(symbol))
        self.names = [n for n in names if requests[n] == "write"]
        self.optimizer = optimizer()
        self.updater = mx.optimizer.get_updater(self.optimizer)
        mx.random.seed(3)
        self._prepared = -1

    def prepare(self, number: int) -> None:
        """Runs forward and backward, unless this was done for this step."""
        if self._prepared == number:
            return
        self._prepared = number
        batch = self.batches[number % BATCHES]
        executor = self.executor
        executor.forward(is_train=True, data=batch.data[0], softmax_label=batch.label[0])
        executor.backward()
        if self.look:
            as_numpy(executor.grad_arrays)

    def step(self, number: int) -> None:
        """Updates all parameters."""
        executor = self.executor
        gradients = [executor.grad_dict[n] for n in self.names]
        weights = [executor.arg_dict[n] for n in self.names]
        self.updater(list(range(len(weights))), gradients, weights)

    def state(self) -> dict[str, Any]:
        """Everything that the update changes."""
        args = {n: self.executor.arg_dict[n] for n in self.names}
        state = {"args": as_numpy(args), "random": mx.random.get_state()}
        return state | optimizer_state(self.optimizer, self.updater.states)


TWO = (mx.cpu(0), mx.cpu(1))

#: Ways of training by name.
WAYS: dict[str, Callable[[], Any]] = {
    "module": ModuleTraining,
    "module, 2 devices": lambda: ModuleTraining(TWO),
    "module, 2 devices, no store": lambda: ModuleTraining(TWO, None),
    "module, uneven slices": lambda: ModuleTraining(TWO, work_load_list=(3, 1)),
    "module, sgld": lambda: ModuleTraining(
        optimizer=lambda: mx.optimizer.create("sgld", rescale_grad=1 / ROWS)
    ),
    "bucketing": BucketingTraining,
    "sequential": SequentialTraining,
    "step": lambda: StepTraining(lambda: optax.adam(1e-2)),
    "step, mxnet": lambda: StepTraining(adam),
    "step, loss scale": lambda: StepTraining(lambda: optax.adam(1e-2), step={"loss_scale": 8}),
    "step, accumulate": lambda: StepTraining(lambda: optax.sgd(1e-2), step={"accumulate": 2}),
    "step, 2 devices": lambda: StepTraining(lambda: optax.adam(1e-2), contexts=TWO),
    "step, 2 devices, mxnet": lambda: StepTraining(adam, contexts=TWO),
    "step, uneven slices": lambda: StepTraining(adam, contexts=TWO, work_load_list=(3, 1)),
    "updater": UpdaterTraining,
    "updater, looked": lambda: UpdaterTraining(look=True),
    "updater, float16": lambda: UpdaterTraining(
        optimizer=lambda: mx.optimizer.create("sgd", momentum=0.9, multi_precision=True),
        dtype="float16",
    ),
}


def prepare(training: Any, number: int) -> None:
    """Does what precedes a step, for ways whose step is the update alone."""
    if isinstance(training, UpdaterTraining):
        training.prepare(number)


def differences(state: Any, other: Any, path: str = "") -> list[str]:
    """Paths at which two states differ."""
    if isinstance(state, dict):
        paths = sorted({*state, *other}, key=str)
        return [d for k in paths for d in differences(state.get(k), other.get(k), f"{path}/{k}")]
    if isinstance(state, list | tuple) and isinstance(other, list | tuple):
        if len(state) == len(other):
            pairs = zip(state, other, strict=True)
            return [d for i, (x, y) in enumerate(pairs) for d in differences(x, y, f"{path}/{i}")]
    elif isinstance(state, np.ndarray) and isinstance(other, np.ndarray):
        same = state.dtype == other.dtype and np.array_equal(state, other, equal_nan=True)
        if same or state.shape != other.shape:
            return [] if same else [path]
        return [f"{path}: {np.abs(state.astype(float) - other.astype(float)).max():.2g}"]
    return [] if type(state) is type(other) and state == other else [path]


class Reference:
    """The states of a training that is never interrupted: before each of its steps."""

    def __init__(self, make: Callable[[], Any]) -> None:
        random = mx.random.get_state()
        self._training = make()
        self.states = [self._training.state()]
        self._random = mx.random.get_state()
        mx.random.set_state(random)

    def before(self, number: int) -> dict[str, Any]:
        """The state before a step; those up to it are computed first."""
        random = mx.random.get_state()
        mx.random.set_state(self._random)
        while len(self.states) <= number:
            k = len(self.states) - 1
            prepare(self._training, k)
            self._training.step(k)
            self.states.append(self._training.state())
        self._random = mx.random.get_state()
        mx.random.set_state(random)
        return self.states[number]


def interrupt_steps(
    make: Callable[[], Any], positions: Sequence[int], warm: int = 3, **event: Any
) -> tuple[int, list[str]]:
    """Trains with an exception in each step, at these events one after the other.

    Returns the number of exceptions that were raised, and a text for each after which the state was
    neither that before the step nor that after it. Positions beyond the events of a step are left
    out. The training goes on from the state in which the exception left it.
    """
    reference = Reference(make)
    training = make()
    number, raised, wrong = 0, 0, []
    mode = jax.enable_x64.get_local()
    while number < warm:
        prepare(training, number)
        training.step(number)
        number += 1
    for at in positions:
        prepare(training, number)
        interrupter = Interrupter(at, **event)
        if not interrupter.run(partial(training.step, number)):
            number += 1
            break
        raised += 1
        if jax.enable_x64.get_local() != mode:
            wrong.append(f"event {at} at {interrupter.place}: 64-bit types")
            jax.enable_x64.set_local(mode)
        state = training.state()
        before = differences(state, reference.before(number))
        if isinstance(training, UpdaterTraining):  # forward has drawn already
            before = [path for path in before if not path.startswith("/random")]
        after = differences(state, reference.before(number + 1))
        if not after:
            number += 1
        elif before:
            wrong.append(f"event {at} at {interrupter.place}: {min(before, after, key=len)[:5]}")
            training = make()
            number = 0
            while number < warm:
                prepare(training, number)
                training.step(number)
                number += 1
    prepare(training, number)
    training.step(number)
    late = differences(training.state(), reference.before(number + 1))
    if late:
        wrong.append(f"at the end: {late[:5]}")
    return raised, wrong
