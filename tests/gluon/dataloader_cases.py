"""Loaders: what processes do with arrays, random numbers, errors and interrupts."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, gluon, nd
from executorkit.gluon.data import ArrayDataset, DataLoader
from executorkit.gluon.data.vision import transforms
from tests.gluon.test_facts import FORKING, check_twice

WORKERS: tuple[dict[str, Any], ...] = (
    {},
    {"num_workers": 2},
    {"num_workers": 2, "thread_pool": True},
)


class Samples:
    """Samples that a function of their number makes."""

    def __init__(self, function, length=6):
        self.function, self.length = function, length

    def __len__(self):
        return self.length

    def __getitem__(self, number):
        if number >= self.length:
            raise IndexError(number)
        return self.function(number)


def plain(samples):
    return samples


def worker_ids(loader):
    """Process ids of a loader's workers, as they tell them."""
    return {p for batch in loader for p in batch}


def ended(ids):
    """True once none of these processes runs any more."""
    for _ in range(500):
        states = []
        for process in ids:
            path = Path(f"/proc/{process}/stat")
            states += [path.read_text().split()[2]] if path.exists() else []
        if all(state == "Z" for state in states):
            return True
        time.sleep(0.01)
    return False


def test_workers_know_closures_and_arrays_of_their_parent():
    scale, data = nd.arange(4) + 1, nd.arange(24).reshape((6, 4))
    view, lazy = data[2:4], nd.ones((3,)) * 2
    pending = mx.sym.Variable("x") * 2
    executor = pending.bind(mx.cpu(), {"x": nd.ones(3)})
    output = executor.forward()[0]
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=4))
    net.initialize()
    net.hybridize()
    before = net(data)

    def transform(row, label):
        return row * scale, view[0], lazy + output, net(row.reshape((1, 4)))[0], label

    rows = ArrayDataset(data, np.arange(6)).transform(transform)
    expected = list(DataLoader(rows, 4))
    for batch, answer in zip(DataLoader(rows, 4, num_workers=2), expected, strict=True):
        for ours, theirs in zip(batch, answer, strict=True):
            assert ours.context == mx.Context("cpu_shared", 0)
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-6)
    np.testing.assert_array_equal(before.asnumpy(), net(data).asnumpy())


def test_batches_stay_when_their_memory_is_used_again():
    """Segments return to the workers once no array is in them, and no sooner."""
    loader = DataLoader(Samples(lambda i: np.full((50, 50), i, "float32"), 60), 2, num_workers=1)
    held, firsts = [], []
    for number, batch in enumerate(loader):
        firsts.append(batch[0, 0, 0].asscalar())
        if number % 7 == 0:
            held.append((2 * number, batch, batch[1] * 1))
    assert firsts == list(range(0, 60, 2))
    for number, batch, second in held:
        assert (batch[0].asnumpy() == number).all()
        assert (second.asnumpy() == number + 1).all()
    maps = Path("/proc/self/maps").read_text().count("executorkit-batch")
    assert maps <= len(held) + 8
    del loader, held, batch, second
    gc.collect()
    assert Path("/proc/self/maps").read_text().count("executorkit-batch") < maps


@pytest.mark.parametrize("options", WORKERS[1:], ids=["processes", "threads"])
def test_nested_batches_of_a_function(options):
    def batchify(samples):
        arrays = [nd.array(s) for s in samples]
        length = max(a.shape[0] for a in arrays)
        padded = [np.pad(s, (0, length - len(s))) for s in samples]
        return {"padded": np.stack(padded), "rows": (arrays, "text" * 20_000)}, lengths(samples)

    def lengths(samples):
        return [len(s) for s in samples]

    loader = DataLoader(
        Samples(lambda i: np.arange(i * 700.0), 3), 3, batchify_fn=batchify, **options
    )
    ((batch, counts),) = loader
    assert counts == [0, 700, 1400]
    assert batch["padded"].shape == (3, 1400)
    batch["padded"][0] = 7  # NumPy's arrays are one's own
    arrays, text = batch["rows"]
    assert [a.shape for a in arrays[1:]] == [(700,), (1400,)]
    assert text == "text" * 20_000
    np.testing.assert_array_equal(arrays[2].asnumpy(), np.arange(1400))


def test_random_streams_of_workers():
    """The first worker goes on as its parent, which others do not repeat; a seed repeats all."""

    def draw(number):
        return float(nd.random.uniform().asscalar()), float(np.random.rand())

    def epoch(workers):
        mx.random.seed(3)
        np.random.seed(3)
        loader = DataLoader(Samples(draw, 4), 1, num_workers=workers, batchify_fn=plain)
        return [batch[0] for batch in loader]

    here, one, two = epoch(0), epoch(1), epoch(2)
    np.testing.assert_allclose(one, here, rtol=1e-6)
    np.testing.assert_allclose(two[0::2], here[:2], rtol=1e-6)
    assert len(set(two)) == 4
    assert {u for u, _ in two[1::2]}.isdisjoint(u for u, _ in here)
    assert {r for _, r in two[1::2]}.isdisjoint(r for _, r in here)
    assert epoch(2) == two


class TwoArgumentsError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


@pytest.mark.parametrize("options", WORKERS, ids=["here", "processes", "threads"])
def test_errors_arrive_as_themselves(options):
    class LocalError(TwoArgumentsError):
        pass

    errors = [ValueError("x", 2), KeyError("k"), mx.base.MXNetError("m"), SystemExit(3)]
    errors += [TwoArgumentsError(1, 2), LocalError(3, 4)]

    def fail(number):
        if number % 2:
            raise errors[number // 2]
        return number

    order: list[list[int]] = []
    loader = DataLoader(Samples(fail, 12), batch_sampler=order, **options)
    for number, error in enumerate(errors):
        order[:] = [[0], [2 * number + 1], [2]]
        batches = iter(loader)
        assert next(batches).asscalar() == 0
        with pytest.raises(type(error)) as caught:
            next(batches)
        assert type(caught.value) is type(error)
        assert str(caught.value) == str(error)
        assert list(batches) == []
    order[:] = [[2, 4]]
    assert [b.asnumpy().tolist() for b in loader] == [[2, 4]]


@pytest.mark.parametrize("options", WORKERS[1:], ids=["processes", "threads"])
def test_a_timeout_names_what_to_try(options):
    batches = iter(DataLoader(Samples(lambda i: i), 1, timeout=5, **options))
    with pytest.raises(multiprocessing.TimeoutError) as caught:
        list(DataLoader(Samples(lambda i: time.sleep(2)), 1, timeout=0.1, **options))
    hint = "a larger timeout" + ("" if "thread_pool" in options else ", or thread_pool=True")
    message = f"DataLoader: no batch came from a worker within 0.1 seconds\n  try: {hint}"
    assert str(caught.value) == message
    assert len(list(batches)) == 6


def test_no_process_is_left():
    loader = DataLoader(Samples(lambda i: os.getpid()), 1, num_workers=2, batchify_fn=plain)
    ids = worker_ids(loader)
    assert len(ids) == 2
    assert ids == worker_ids(loader)
    batches = iter(loader)
    next(batches)
    del loader
    assert len(list(batches)) == 5
    del batches
    gc.collect()
    assert ended(ids)


def test_a_killed_worker_is_an_error_and_is_replaced():
    """Whichever batch is awaited; the next epoch has new processes."""
    parent = os.getpid()

    def sample(number):
        if number == 3 and flag.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    flag = Path(f"/dev/shm/executorkit-test-{parent}")
    flag.touch()
    try:
        loader = DataLoader(Samples(sample), 1, num_workers=2, batchify_fn=plain)
        with pytest.raises(mx.base.MXNetError, match=r"worker process 1 was ended by SIGKILL"):
            list(loader)
    finally:
        flag.unlink()
    assert len(worker_ids(loader)) == 2


def test_an_interrupt_ends_the_workers_and_not_the_loader():
    waits = [True]

    def sample(number):
        if number >= 4 and waits:
            time.sleep(30)
        return os.getpid()

    loader = DataLoader(Samples(sample), 1, num_workers=2, batchify_fn=plain)
    batches = iter(loader)
    ids = {next(batches)[0] for _ in range(4)}
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    timer.join()
    assert ended(ids)
    waits.clear()
    assert len(worker_ids(loader) - ids) == 2


def test_dropped_and_interleaved_epochs():
    loader = DataLoader(list(range(12)), 2, num_workers=2, prefetch=5)
    for batch in loader:
        assert batch.asnumpy().tolist() == [0, 1]
        break
    first, second, dropped = iter(loader), iter(loader), iter(loader)
    next(dropped)
    seen = [(next(first)[0].asscalar(), next(second)[1].asscalar()) for _ in range(3)]
    del dropped
    assert seen == [(0, 1), (2, 3), (4, 5)]
    assert [b[0].asscalar() for b in second] == [6, 8, 10]
    assert [b[0].asscalar() for b in first] == [6, 8, 10]
    assert len(list(loader)) == 6


def test_where_no_process_can_be_forked_workers_are_threads():
    def nested(number):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            inner = DataLoader([number, number], 2, num_workers=1)
        return [str(w.message) for w in warned], [b.asnumpy().tolist() for b in inner]

    ((((line,), values),),) = DataLoader(Samples(nested, 1), 1, num_workers=1, batchify_fn=plain)
    assert values == [[0, 0]]
    assert line == (
        "DataLoader: its workers are threads\n"
        "  because a worker process has no processes of its own\n"
        "  try: thread_pool=True does the same without this line"
    )


def test_plain_blocks_take_what_workers_send():
    """cpu_shared(0) is another name of cpu(0), where the parameters are."""
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    (x,) = DataLoader([nd.ones(3)], 1, num_workers=1, thread_pool=True)
    with autograd.record():
        y = net(x)
    y.backward()
    assert net.weight.data(x.context) is net.weight.data()
    assert net.weight.grad().asnumpy().tolist() == [[1.0] * 3] * 2
    with pytest.raises(mx.base.MXNetError, match="it is not on context"):
        net.weight.data(mx.Context("cpu_shared", 1))


def test_samples_that_make_no_batch():
    for options in WORKERS[:2]:
        for samples, error, text in (
            ([{"a": 1}, {"a": 2}], TypeError, "its samples are of type dict, expected arrays"),
            ([np.ones(2), np.ones(3)], ValueError, "its samples have no common shape"),
            ([nd.ones(2), nd.ones(3)], mx.base.MXNetError, "operator stack: 'arg0' is"),
        ):
            with pytest.raises(error, match=text):
                list(DataLoader(samples, 2, **options))
    with pytest.raises(AttributeError, match="Can't pickle local object"):
        list(DataLoader([1], 1, num_workers=1, batchify_fn=lambda samples: lambda: samples))


def test_a_network_learns_from_pictures_that_workers_prepare():
    """A loop as it is written for CIFAR: transforms, workers, a validation set, an accuracy."""
    mx.random.seed(0)
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 2, 96).astype("int32")
    pictures = rng.randint(0, 100, (96, 8, 8, 3))
    pictures[labels == 1] += 120
    data = ArrayDataset(nd.array(pictures, dtype="uint8"), labels)
    normal = [transforms.ToTensor(), transforms.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])]
    augmented = transforms.Compose([transforms.RandomFlipLeftRight(), *normal])
    train = DataLoader(
        data.take(64).transform_first(augmented), 16, shuffle=True, last_batch="discard",
        num_workers=2,
    )  # fmt: skip
    valid = DataLoader(
        data.sample(gluon.data.SequentialSampler(32, 64)).transform_first(
            transforms.Compose(normal)
        ),
        16,
        num_workers=1,
    )
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(2):
        for batch in train:
            x, y = (part.as_in_context(mx.cpu()) for part in batch)
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(x.shape[0])
    accuracy = mx.metric.Accuracy()
    for x, y in valid:
        accuracy.update(y, net(x.as_in_context(mx.cpu())))
    assert accuracy.get()[1] == 1.0
    assert accuracy.num_inst == 32


@pytest.mark.parametrize("name", sorted(FORKING))
def test_script_sees_the_same_as_under_mxnet(name):
    check_twice(name)
