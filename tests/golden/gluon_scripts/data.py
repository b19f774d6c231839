"""Datasets, samplers and the loader: samples, orders, batches, errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import attempt, attempts, folder, script


class Numbers:
    """Samples of one kind; some raise."""

    def __init__(self, samples: Any) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> Any:
        sample = self.samples[number]
        if isinstance(sample, Exception):
            raise sample
        return sample


def _shown(mx: Any, batch: Any) -> Any:
    """Kinds, contexts, dtypes and contents of a batch."""
    if isinstance(batch, (list, tuple)):
        return [type(batch).__name__, *[_shown(mx, part) for part in batch]]
    if isinstance(batch, dict):
        return {key: _shown(mx, part) for key, part in batch.items()}
    if isinstance(batch, mx.nd.NDArray):
        return [str(batch.context), np.dtype(batch.dtype).name, batch.asnumpy().tolist()]
    return [type(batch).__name__, batch.tolist() if isinstance(batch, np.ndarray) else batch]


@script
def datasets(mx):
    data = mx.gluon.data
    simple = data.SimpleDataset([1, 2, 3, 4, 5, 6, 7])
    arrays = data.ArrayDataset(np.arange(12).reshape(6, 2), np.arange(6))
    marked = data.ArrayDataset(mx.nd.arange(4).reshape((2, 2)), mx.nd.arange(2))
    seen: dict[str, Any] = {
        "samples": [simple[-1], simple[1:3], list(simple)],
        "parts": [type(arrays[1]).__name__, arrays[1], arrays[-1], len(arrays), arrays[1:3]],
        "single": [data.ArrayDataset([5, 6])[1], data.ArrayDataset("abc", (1, 2, 3))[1]],
        "marked": [marked[1][0], type(marked[1][0]).__name__, type(marked[1][1]).__name__],
        "transform": [
            list(simple.transform(lambda x: x * 2)),
            simple.transform(lambda x: x * 2, lazy=False)[3],
            arrays.transform(lambda x, y: (int(x.sum()), int(y)))[2],
            arrays.transform_first(lambda x: int(x.sum()))[2],
            simple.transform_first(lambda x: -x, lazy=False)[2],
        ],
        "filter": [list(simple.filter(lambda x: x % 2)), len(simple.filter(lambda x: x > 5))],
        "take": [len(simple.take(n)) for n in (0, 3, 100, None)],
        "shard": [
            [list(simple.shard(count, index)) for index in range(count)] for count in (1, 3, 7, 9)
        ],
        "sample": list(simple.sample(data.SequentialSampler(2, 3))),
        "chain": list(simple.take(5).filter(lambda x: x % 2).transform(lambda x: -x).shard(2, 0)),
    }
    seen["errors"] = attempts(
        mx,
        item=lambda: data.Dataset()[0],
        length=lambda: len(data.Dataset()),
        beyond=lambda: simple[10],
        beyond_parts=lambda: arrays[6],
        index=lambda: simple.shard(3, 3),
        negative=lambda: simple.shard(3, -1),
        none=lambda: simple.shard(0, 0),
        count=lambda: len(simple.take(-1)),
        sampler=lambda: simple.sample([1, 2]),
        empty=lambda: data.ArrayDataset(),
        lengths=lambda: data.ArrayDataset([1, 2], [1]),
        arguments=lambda: arrays.transform(lambda x: x)[0],
    )
    return seen


@script
def samplers(mx):
    data = mx.gluon.data
    seen: dict[str, Any] = {
        "sequential": [list(data.SequentialSampler(3, 4)), len(data.SequentialSampler(3, 4))],
        "filter": list(data.FilterSampler(lambda x: x > 3, data.SimpleDataset([1, 5, 2, 7]))),
    }
    random = data.RandomSampler(6)
    seen["random"] = [[int(i) for i in random] for _ in range(3)]
    for last in ("keep", "discard", "rollover"):
        batches = data.BatchSampler(data.SequentialSampler(7), 3, last)
        seen[last] = [[len(batches), list(batches)] for _ in range(4)]
    begun = data.BatchSampler(data.SequentialSampler(4), 3, "rollover")
    list(begun)
    next(iter(begun))
    seen["begun"] = list(begun)
    seen["no size"] = list(iter(data.BatchSampler(data.SequentialSampler(3), 0)))
    seen["errors"] = attempts(
        mx,
        numbers=lambda: iter(data.Sampler()),
        length=lambda: len(data.Sampler()),
        last=lambda: list(data.BatchSampler(data.SequentialSampler(4), 3, "x")),
        last_length=lambda: len(data.BatchSampler(data.SequentialSampler(4), 3, "x")),
        size=lambda: len(data.BatchSampler(data.SequentialSampler(4), 0)),
    )
    return seen


@script
def record_files(mx):
    with folder() as path:
        names = str(path / "a.idx"), str(path / "a.rec")
        record = mx.recordio.MXIndexedRecordIO(*names, "w")
        for number in range(5):
            record.write_idx(10 * number, b"record %d" % number)
        record.close()
        records = mx.gluon.data.RecordFileDataset(names[1])
        loader = mx.gluon.data.DataLoader(
            records, 2, num_workers=1, batchify_fn=_texts, last_batch="discard"
        )
        return [len(records), records[3].decode(), records[-1].decode(), list(loader), list(loader)]


def _texts(records: Any) -> Any:
    return [record.decode() for record in records]


@script
def batches(mx):
    """Contents by the kind of samples, made here, in processes and in threads."""
    nd, data = mx.nd, mx.gluon.data
    kinds = {
        "integers": [1, 2, 3],
        "floats": [0.5, 1.5],
        "numbers": [np.float16(1), np.float16(2)],
        "truth": [True, False],
        "mixed": [1, 2.5],
        "large": [2**40, 1],
        "tuples": [(1, (2.0, np.zeros(2, "float16"))), (3, (4.0, np.ones(2, "float16")))],
        "tuples of one": [(1,), (2,)],
        "lists": [[1, 2], [3, 4]],
        "bytes": [np.zeros((2, 2), "uint8"), np.ones((2, 2), "uint8")],
        "arrays": [nd.ones(2), nd.zeros(2)],
        "arrays of half precision": [(nd.ones((2, 2), dtype="float16"), 1)],
        "scalars": [np.array(3.0), np.array(4.0)],
        "shorter": [(1, 2), (3,)],
    }
    functions = [data.dataloader.default_batchify_fn, data.dataloader.default_mp_batchify_fn]
    return {
        kind: [_shown(mx, function(samples)) for function in functions]
        for kind, samples in kinds.items()
    }


def _mixed(samples: Any) -> Any:
    import sys

    mx: Any = sys.modules.get("mxnet")
    if mx is None:
        import executorkit as mx
    return mx.nd.array(samples), np.array(samples), {"a": mx.nd.array(samples), "s": "text"}


@script
def loaders(mx):
    """Epochs in processes and threads: orders for a seed, incomplete batches, errors."""
    data = mx.gluon.data
    arrays = data.ArrayDataset(np.arange(14).reshape(7, 2).astype("float64"), np.arange(7))
    failing = Numbers([0, 1, 2, KeyError("third"), 4])
    seen: dict[str, Any] = {}
    for workers in ({}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}):
        loader = data.DataLoader(
            arrays, 3, shuffle=True, last_batch="rollover", pin_memory=False, **workers
        )
        np.random.seed(5)
        epochs = [[len(loader), [_shown(mx, batch) for batch in loader]]]
        epochs += [[len(loader), [b[1].asnumpy().tolist() for b in loader]] for _ in range(3)]
        first, second = iter(loader), iter(loader)
        pairs = [[next(i)[1].asnumpy().tolist() for i in (first, second)] for _ in range(2)]
        seen[str(workers)] = [epochs, pairs]
    for workers in ({}, {"num_workers": 1}):
        loader = iter(data.DataLoader(failing, 2, **workers))
        seen[f"failing {workers}"] = [
            next(loader).asnumpy().tolist(), attempt(mx, lambda i=loader: next(i)), list(loader)
        ]  # fmt: skip
    mixed = data.DataLoader([1, 2, 3, 4], 2, num_workers=1, batchify_fn=_mixed, pin_memory=True)
    seen["mixed"] = _shown(mx, next(iter(mixed)))
    return seen


@script
def arguments_of_loaders(mx):
    data = mx.gluon.data
    samples = list(range(5))
    lists = data.BatchSampler(data.SequentialSampler(5), 2)

    def epoch(*args: Any, **options: Any) -> Any:
        return [b.asnumpy().tolist() for b in data.DataLoader(samples, *args, **options)]

    seen = {
        "sampler": epoch(2, sampler=[3, 2, 1]),
        "discard": epoch(2, last_batch="discard"),
        "batch sampler": epoch(batch_sampler=[[1, 2], [3]]),
        "empty": [list(data.DataLoader(Numbers([]), 2, shuffle=s)) for s in (False, True)],
        "no size": epoch(0),
        "prefetch": [
            data.DataLoader(samples, 2, num_workers=1, thread_pool=True, prefetch=n)._prefetch
            for n in (None, 0, -2, 3)
        ],
        "negative": data.DataLoader(samples, 2, num_workers=-1)._num_workers,
    }
    seen["errors"] = attempts(
        mx,
        size=lambda: epoch(),
        shuffle=lambda: epoch(2, shuffle=True, sampler=[1]),
        size_twice=lambda: epoch(2, batch_sampler=lists),
        shuffle_twice=lambda: epoch(shuffle=True, batch_sampler=lists),
        last_twice=lambda: epoch(last_batch="keep", batch_sampler=lists),
        sampler_twice=lambda: epoch(sampler=[1], batch_sampler=lists),
        last=lambda: epoch(2, last_batch="x"),
        timeout=lambda: epoch(2, timeout=0),
        length=lambda: data.DataLoader((i for i in samples), 2),
        no_samples=lambda: data.dataloader.default_batchify_fn([]),
    )
    return seen


@script
def epochs_begun_ahead(mx):
    """``np.random`` shows when the order of an epoch is drawn."""
    data = mx.gluon.data
    seen = []
    for ahead in (False, True):
        for workers in ({}, {"num_workers": 1, "thread_pool": True}):
            positions = []

            def note(positions: Any = positions) -> None:
                positions.append(int(np.random.get_state()[2]))

            np.random.seed(5)
            loader = data.DataLoader(list(range(7)), 3, shuffle=True, auto_reload=ahead, **workers)
            note()
            iterator = iter(loader)
            note()
            orders = [next(iterator).asnumpy().tolist()]
            note()
            orders += [batch.asnumpy().tolist() for batch in iterator]
            note()
            loader.refresh()
            note()
            orders += [batch.asnumpy().tolist() for batch in loader]
            loader.clean()
            orders += [batch.asnumpy().tolist() for batch in loader]
            note()
            seen.append([positions, orders])
    return seen
