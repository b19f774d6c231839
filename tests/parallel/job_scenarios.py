"""What the processes of a job train, each on its rows; with one process, on all rows and devices.

Each scenario returns lists of numbers: parameters and auxiliary states at the end, mostly.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROWS, DEVICES = 16, 4


class Part:
    """What a process has of a job."""

    def __init__(self, mx: Any, rank: int, processes: int) -> None:
        self.mx = mx
        self.rank = rank
        self.processes = processes
        self.contexts = [mx.cpu(k) for k in range(DEVICES // processes)]
        self.rows = ROWS // processes
        self.slice = slice(rank * self.rows, (rank + 1) * self.rows)
        self.store = "dist_sync" if processes > 1 else "device"
        mx.random.seed(3)
        np.random.seed(1)

    def batches(self, steps: int = 4) -> Iterator[tuple[Any, Any]]:
        """The rows of this process of each batch, and their labels."""
        random = np.random.RandomState(5)
        data, labels = random.randn(6, ROWS, 5), random.randint(0, 3, (6, ROWS))
        for x, y in zip(data[:steps], labels[:steps], strict=True):
            yield self.mx.nd.array(x[self.slice]), self.mx.nd.array(y[self.slice])

    def iterator(self, steps: int = 4) -> Any:
        """The same as an iterator."""
        pairs = [(x.asnumpy(), y.asnumpy()) for x, y in self.batches(steps)]
        data, labels = map(np.concatenate, zip(*pairs, strict=True))
        return self.mx.io.NDArrayIter(data, labels, self.rows)

    def network(self, dropout: float = 0.0) -> Any:
        """Two layers with BatchNorm between them."""
        sym = self.mx.sym
        x = sym.FullyConnected(sym.Variable("data"), num_hidden=4, name="fc1")
        x = sym.BatchNorm(sym.Activation(x, act_type="tanh"), name="bn", fix_gamma=False)
        if dropout:
            x = sym.Dropout(x, p=dropout)
        return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=3, name="fc2"), name="softmax")

    def bound(self, dropout: float = 0.0) -> Any:
        """A module with parameters."""
        module = self.mx.mod.Module(self.network(dropout), context=self.contexts)
        module.bind([("data", (self.rows, 5))], [("softmax_label", (self.rows,))])
        module.init_params(self.mx.init.Xavier())
        return module

    def fitted(
        self, optimizer: str = "sgd", steps: int = 4, dropout: float = 0.0, callback: Any = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        """A module after two epochs."""
        module = self.mx.mod.Module(self.network(dropout), context=self.contexts)
        module.fit(
            self.iterator(steps),
            num_epoch=2,
            optimizer=optimizer,
            kvstore=self.store,
            optimizer_params={"learning_rate": 0.05, "rescale_grad": 1 / ROWS, **options},
            initializer=self.mx.init.Xavier(),
            batch_end_callback=callback and (lambda _: callback(module)),
        )
        return module


def _numbers(*groups: Any) -> list[list[float]]:
    return [x.asnumpy().ravel().tolist() for group in groups for _, x in sorted(group.items())]


def sgd(part: Part) -> Any:
    return _numbers(*part.fitted(momentum=0.9).get_params())


def adam(part: Part) -> Any:
    return _numbers(*part.fitted("adam").get_params())


def fit_from_other_parameters(part: Part) -> Any:
    """A module whose processes initialise it differently: all begin with the first one's values."""
    mx = part.mx
    mx.random.seed(part.rank)
    module = mx.mod.Module(part.network(), context=part.contexts)
    module.fit(
        part.iterator(),
        num_epoch=1,
        optimizer="adam",
        kvstore="dist_sync",
        optimizer_params={"learning_rate": 0.05},
        initializer=mx.init.Uniform(0.5),
    )
    assert module._optimizer.rescale_grad == 1 / ROWS
    replicas = [[w.asnumpy() for w in weights] for weights in module._exec_group.param_arrays]
    difference = max(float(np.abs(w - ws[0]).max()) for ws in replicas for w in ws)
    return [*_numbers(*module.get_params()), [difference]]


def lamb(part: Part) -> Any:
    return _numbers(*part.fitted("lamb").get_params())


def dropout(part: Part) -> Any:
    return _numbers(*part.fitted(dropout=0.5).get_params())


def one_process_looks(part: Part) -> Any:
    """As :func:`sgd`, and the first process saves, scores and reads in the middle of epochs."""
    random = np.random.RandomState(7)

    def look(module: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            looks: list[Callable[[], object]] = [
                lambda: module.save_checkpoint(str(Path(folder) / "net"), 1, True),
                lambda: module.get_outputs()[0].asnumpy(),
                lambda: module.score(part.iterator(2), "acc"),
                lambda: module.get_params(),
                lambda: module._exec_group.param_arrays[0][0].asnumpy(),
            ]
            for number in random.randint(0, len(looks), 2):
                looks[number]()

    callback = look if part.rank == 0 else None
    return _numbers(*part.fitted(momentum=0.9, callback=callback).get_params())


def one_process_looks_within_a_step(part: Part) -> Any:
    """The first process reads outputs and gradients before some of the updates."""
    module, random = part.bound(dropout=0.5), np.random.RandomState(1)
    options = {"learning_rate": 0.05, "momentum": 0.9, "rescale_grad": 1 / ROWS}
    module.init_optimizer(part.store, "sgd", options)
    for x, y in part.batches(6):
        module.forward(part.mx.io.DataBatch([x], [y]), is_train=True)
        if part.rank == 0 and random.rand() < 0.4:
            module.get_outputs()[0].asnumpy()
        module.backward()
        if part.rank == 0 and random.rand() < 0.6:
            _ = [g[0].asnumpy() for g in module._exec_group.grad_arrays]
        module.update()
    return _numbers(*module.get_params())


def fewer_batches(part: Part) -> Any:
    """All but the first process have three batches, the first has five."""
    several = part.processes > 1
    module = part.fitted("adam", steps=5 if several and part.rank == 0 else 3)
    return [*_numbers(*module.get_params()), [float(module._optimizer.num_update)]]


def _step(part: Part, optimizer: Any, look: Any = None, **options: Any) -> Any:
    module = part.bound()
    step = part.mx.training.Step(module, optimizer, **options)
    for x, y in part.batches():
        step(data=x, softmax_label=y)
        if look is not None:
            look(step)
    states = dict(zip(module._aux_names, step.feeder.core.aux_arrays, strict=True))
    return [
        *([v.ravel().tolist() for _, v in sorted(step.params.items())]),
        *([a[0].asnumpy().tolist() for _, a in sorted(states.items())] if part.processes > 1 else
          [np.mean([x.asnumpy() for x in a], 0).tolist() for _, a in sorted(states.items())]),
    ]  # fmt: skip


def step_with_optax(part: Part) -> Any:
    import optax

    options = {"rescale_grad": 1 / ROWS, "clip_global_norm": 0.1}
    return _step(part, optax.adamw(1e-2), **options)


def one_process_looks_at_a_step(part: Part) -> Any:
    """As :func:`step_with_optax`, and the first process saves, reads, and runs another module."""
    import optax

    other = part.bound()
    part.mx.random.seed(3)

    def look(step: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            step.save(str(Path(folder) / "net"), 1)
        assert all(np.isfinite(x).all() for x in step.params.values())
        other.score(part.iterator(2), "acc")

    options = {"rescale_grad": 1 / ROWS, "clip_global_norm": 0.1}
    return _step(part, optax.adamw(1e-2), look if part.rank == 0 else None, **options)


def resumed(part: Part) -> Any:
    """As :func:`undisturbed`, stopped after an epoch and begun anew from the first one's files."""
    return _undisturbed(part, at=1)


def undisturbed(part: Part) -> Any:
    """Two epochs with Dropout, momentum and a state of the optimizer."""
    return _undisturbed(part)


def _undisturbed(part: Part, at: int = 2) -> Any:
    mx, options = part.mx, {"learning_rate": 0.05, "momentum": 0.9, "rescale_grad": 1 / ROWS}
    module = mx.mod.Module(part.network(0.5), context=part.contexts)
    fit = {"optimizer_params": options, "kvstore": part.store}
    module.fit(part.iterator(), num_epoch=at, initializer=mx.init.Xavier(), **fit)
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "net")
        if at == 1:
            if part.rank == 0:
                module.save_checkpoint(prefix, 1, True)
            else:  # its own files are others
                mx.random.seed(8)
                module.init_params(mx.init.One(), force_init=True)
                module.save_checkpoint(prefix, 1)
            module = mx.mod.Module.load(prefix, 1, True, context=part.contexts)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the parameters are initialised
                module.fit(part.iterator(), begin_epoch=1, num_epoch=2, **fit)
    return _numbers(*module.get_params())


def divided_optimizer(part: Part) -> Any:
    """As :func:`resumed` with a state that the devices divide, which all processes save; the second
    epoch looks at gradients in the first process."""
    mx = part.mx
    random = np.random.RandomState(4)

    def look(module: Any) -> None:
        if part.rank == 0 and random.rand() < 0.5:
            module._exec_group.grad_arrays[0][0].asnumpy()

    with mx.program.options(shard_optimizer=True), tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "net")
        module = part.fitted("adam")
        module.save_checkpoint(prefix, 1, True)
        part.mx.random.seed(3)
        module = mx.mod.Module.load(prefix, 1, True, context=part.contexts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the parameters are initialised
            options = {"learning_rate": 0.05, "rescale_grad": 1 / ROWS}
            fit = {"optimizer": "adam", "optimizer_params": options, "kvstore": part.store}
            module.fit(part.iterator(), num_epoch=1, **fit)
        for x, y in part.batches():
            module.forward_backward(mx.io.DataBatch([x], [y]))
            look(module)
            module.update()
        states = module._module_optimizer.updater.states
        moments = {f"{name}{i}": x for name, xs in states.items() for i, x in enumerate(xs)}
        return _numbers(*module.get_params(), moments)


def step_with_divided_state(part: Part) -> Any:
    import optax

    with part.mx.program.options(shard_optimizer=True):
        return _step(part, optax.adamw(1e-2), rescale_grad=1 / ROWS, clip_global_norm=0.1)


def one_process_reads_a_divided_state(part: Part) -> Any:
    """The error of the first process, which asks for what the others have parts of; these wait for
    it meanwhile."""
    if part.processes == 1:
        return []
    os.environ["EXECUTORKIT_MEET_SECONDS"] = "1"
    with part.mx.program.options(shard_optimizer=True):
        module = part.fitted("adam")
    if part.rank > 0:
        return ["shard_optimizer"]
    try:
        module._module_optimizer.updater.states["fc1_weight"][0].asnumpy()
    except part.mx.MXNetError as error:
        return [word for word in str(error).split() if word == "shard_optimizer"]
    return [False]


def step_in_float16(part: Part) -> Any:
    import optax

    scale = part.mx.training.LossScale()
    options = {"rescale_grad": 1 / ROWS, "loss_scale": scale, "compute_dtype": "float16"}
    return _step(part, optax.sgd(1e-2, momentum=0.9), **options)


def step_with_nadam(part: Part) -> Any:
    return _step(part, part.mx.optimizer.Nadam(rescale_grad=1 / ROWS))


def feed_forward(part: Part) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _feed_forward(part)


def _feed_forward(part: Part, steps: int = 4) -> Any:
    model = part.mx.model.FeedForward(
        part.network(), ctx=part.contexts, num_epoch=2, optimizer="sgd", learning_rate=0.05,
        momentum=0.9, rescale_grad=1 / ROWS, initializer=part.mx.init.Xavier(),
    )  # fmt: skip
    model.fit(part.iterator(steps), kvstore=part.store)
    return _numbers(model.arg_params, model.aux_params)


def feed_forward_with_fewer_batches(part: Part) -> Any:
    """As :func:`fewer_batches`: the epoch ends for all."""
    several = part.processes > 1
    steps = 5 if several and part.rank == 0 else 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _feed_forward(part, steps)


def buckets(part: Part) -> Any:
    sym = part.mx.sym

    def symbol_of(key: int) -> Any:
        x = sym.sum(sym.reshape(sym.Variable("data"), (-1, key, 5)), axis=1)
        x = sym.FullyConnected(x, num_hidden=3, name="fc")
        return sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)

    module = part.mx.mod.BucketingModule(symbol_of, default_bucket_key=2, context=part.contexts)
    module.bind([("data", (part.rows, 10))], [("softmax_label", (part.rows,))])
    module.init_params(part.mx.init.Xavier())
    module.init_optimizer(part.store, "sgd", {"learning_rate": 0.05, "rescale_grad": 1 / ROWS})
    for i, (x, y) in enumerate(part.batches()):
        key = 1 + i % 2
        shapes = [("data", (part.rows, 5 * key))], [("softmax_label", (part.rows,))]
        data = part.mx.nd.tile(x, (1, key))
        batch = part.mx.io.DataBatch([data], [y], bucket_key=key)
        batch.provide_data, batch.provide_label = shapes
        module.forward_backward(batch)
        module.update()
    return _numbers(*module.get_params())


def svrg(part: Part) -> Any:
    """Full gradients of this process's rows correct the steps, which all take together."""
    from executorkit.contrib.svrg_optimization.svrg_module import SVRGModule

    part.mx.random.seed(3)
    sym = part.mx.sym
    x = sym.FullyConnected(sym.Variable("data"), num_hidden=3, name="fc")
    network = sym.SoftmaxOutput(x, name="softmax")
    module = SVRGModule(network, context=part.contexts, update_freq=1)
    options = {"learning_rate": 0.05, "rescale_grad": 1 / ROWS}
    module.fit(
        part.iterator(), num_epoch=2, optimizer_params=options, kvstore=part.store,
        initializer=part.mx.init.Xavier(),
    )  # fmt: skip
    return _numbers(*module.get_params())


def gluon_trainer(part: Part) -> Any:
    return _gluon_trainer(part)


def one_process_looks_at_a_trainer(part: Part) -> Any:
    """As :func:`gluon_trainer`, and the first process saves, reads and predicts."""
    mx = part.mx

    def look(net: Any, trainer: Any, x: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            net.save_parameters(str(Path(folder) / "net.params"))
            trainer.save_states(str(Path(folder) / "net.states"))
        first = x.as_in_context(part.contexts[0])
        assert np.isfinite(net(first).asnumpy()).all()
        assert all(
            np.isfinite(p.data(part.contexts[0]).asnumpy()).all()
            for p in net.collect_params().values()
        )
        mx.nd.waitall()

    return _gluon_trainer(part, look if part.rank == 0 else None)


def _gluon_trainer(part: Part, look: Any = None) -> Any:
    from executorkit import autograd, gluon

    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="tanh", in_units=5), gluon.nn.Dense(3, in_units=4))
    net.initialize(part.mx.init.Xavier(), ctx=part.contexts)
    options = {"learning_rate": 0.01}
    trainer = gluon.Trainer(net.collect_params(), "adam", options, kvstore=part.store)
    loss = gluon.loss.SoftmaxCELoss()
    load = gluon.utils.split_and_load
    for x, y in part.batches():
        pairs = zip(load(x, part.contexts), load(y, part.contexts), strict=True)
        with autograd.record():
            losses = [loss(net(a), b) for a, b in pairs]
        autograd.backward(losses)
        trainer.step(ROWS)
        if look is not None:
            look(net, trainer, x)
    return [p.data(part.contexts[0]).asnumpy().tolist() for p in net.collect_params().values()]


def lists_in_a_store(part: Part) -> Any:
    """Keys with lists: the sums over four devices, and a store's own updates."""
    mx, store = part.mx, part.mx.kv.create("dist_sync")
    first = part.rank * len(part.contexts)
    arrays = [mx.nd.full((2, 3), first + k, ctx=c) for k, c in enumerate(part.contexts)]
    others = [mx.nd.ones((4,), ctx=c, dtype="float16") for c in part.contexts]
    store.init(["a", "b"], [mx.nd.zeros((2, 3)), mx.nd.full((4,), 9, dtype="float16")])
    outs = [mx.nd.zeros((2, 3)), mx.nd.zeros((4,), dtype="float16")]
    store.pushpull(["a", "b"], [arrays, others], out=outs)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, multi_precision=True))
    store.push(["a", "b"], [arrays, others])
    after = [mx.nd.zeros((2, 3)), mx.nd.zeros((4,), dtype="float16")]
    store.pull(["a", "b"], out=after)
    return [x.asnumpy().tolist() for x in (*outs, *after)]


def manager(part: Part) -> Any:
    """An executor manager whose gradients are summed by hand."""
    mx, symbol = part.mx, part.network()
    names = [n for n in symbol.list_arguments() if n not in ("data", "softmax_label")]
    groups = mx.executor_manager.DataParallelExecutorManager(
        symbol, part.contexts, part.iterator(), symbol.list_arguments(), names,
        symbol.list_auxiliary_states(),
    )  # fmt: skip
    random = np.random.RandomState(2)
    shapes = {n: groups.execgrp.train_execs[0].arg_dict[n].shape for n in names}
    params = {n: mx.nd.array(random.randn(*shape)) for n, shape in shapes.items()}
    groups.set_params(params, {n: mx.nd.ones((4,)) for n in groups.aux_names})
    for x, y in part.batches():
        groups.load_data_batch(mx.io.DataBatch([x], [y]))
        groups.forward(is_train=True)
        groups.backward()
        sums = mx.parallel.all_reduce(groups.grad_arrays)
        for weights, totals in zip(groups.param_arrays, sums, strict=True):
            for weight, total in zip(weights, totals, strict=True):
                weight -= 0.1 / ROWS * total
    groups.copy_to(params, {n: mx.nd.zeros((4,)) for n in groups.aux_names})
    return _numbers(params)


def a_rank_that_differs(part: Part) -> Any:
    """The error of all processes where one writes to a parameter by itself."""
    if part.processes == 1:
        return []

    def write(module: Any) -> None:
        module._exec_group.param_arrays[0][0][:] = 3

    last = part.processes - 1
    try:
        part.fitted(callback=write if part.rank == last else None)
    except part.mx.MXNetError as error:
        return [f"rank {last}" in str(error) if part.processes > 2 else "rank" in str(error)]
    return [False]


def _divided_network(part: Part) -> Any:
    """A module whose parameters are divided over the two devices of each replica, where there are
    two; without BatchNorm, whose statistics depend on the number of replicas."""
    sym = part.mx.sym
    columns, rows = {"__sharding__": "model,None"}, {"__sharding__": "None,model"}
    weights = sym.Variable("fc1_weight", attr=columns), sym.Variable("fc2_weight", attr=rows)
    x = sym.FullyConnected(sym.Variable("data"), weights[0], num_hidden=4, name="fc1")
    x = sym.Activation(x, act_type="tanh")
    x = sym.FullyConnected(x, weights[1], num_hidden=3, name="fc2")
    net = sym.SoftmaxOutput(x, name="softmax")
    with part.mx.program.options(model_parallel=min(2, len(part.contexts))):
        module = part.mx.mod.Module(net, context=part.contexts)
        module.bind([("data", (part.rows, 5))], [("softmax_label", (part.rows,))])
    module.init_params(part.mx.init.Xavier())
    return module


def divided_parameters(part: Part) -> Any:
    """Steps of Adam, and looks of the first process at the parameters."""
    module = _divided_network(part)
    options = {"learning_rate": 0.05, "rescale_grad": 1 / ROWS}
    module.init_optimizer(part.store, "adam", options)
    for k, (x, y) in enumerate(part.batches()):
        module.forward_backward(part.mx.io.DataBatch([x], [y]))
        module.update()
        if part.rank == 0 and k % 2:
            module.get_params()
    return _numbers(*module.get_params())


def step_with_divided_parameters(part: Part) -> Any:
    import optax

    module = _divided_network(part)
    step = part.mx.training.Step(module, optax.adamw(0.05), rescale_grad=1 / ROWS)
    for x, y in part.batches():
        step(data=x, softmax_label=y)
    return [v.ravel().tolist() for _, v in sorted(step.params.items())]


SCENARIOS = [
    sgd, adam, fit_from_other_parameters, lamb, dropout, one_process_looks,
    one_process_looks_within_a_step, fewer_batches,
    undisturbed, resumed, divided_optimizer, step_with_divided_state, step_with_optax,
    one_process_looks_at_a_step, step_in_float16, step_with_nadam, feed_forward,
    feed_forward_with_fewer_batches, buckets, svrg, gluon_trainer, one_process_looks_at_a_trainer,
    lists_in_a_store, manager, a_rank_that_differs, one_process_reads_a_divided_state,
    divided_parameters, step_with_divided_parameters,
]  # fmt: skip


def run(mx: Any, rank: int, processes: int) -> dict[str, Any]:
    """The results of all scenarios, by name."""
    return {s.__name__: s(Part(mx, rank, processes)) for s in SCENARIOS}
