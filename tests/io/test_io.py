"""Properties of iterators beyond golden values: ownership, threads, devices, files, errors."""

from __future__ import annotations

import copy
import gzip
import pickle
import struct
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.io._mnist_iter import shuffled_indices
from executorkit.io._ndarray_iter import Source

pytestmark = pytest.mark.smoke

ROWS = np.arange(20, dtype="float32").reshape(10, 2)


def _all(iterator):
    return [b.data[0].asnumpy().tolist() for b in iterator]


# -- descriptions and batches ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        (mx.io.DataDesc("a", (1, 2)), True),
        (mx.io.DataDesc("a", (1, 2), "float32"), True),
        (mx.io.DataDesc("a", (1, 2), "int8"), False),
        (mx.io.DataDesc("a", (1, 2), layout="TN"), False),
        (mx.io.DataDesc("b", (1, 2)), False),
        (("a", (1, 2)), True),
        (("a", (1, 3)), False),
        ("a", False),
    ],
)
def test_descriptions_are_equal_if_all_their_parts_are(other, equal):
    desc = mx.io.DataDesc("a", (1, 2))
    assert (desc == other) is equal
    assert (desc != other) is not equal
    assert not equal or hash(desc) == hash(other)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_descriptions_can_be_copied(copied):
    desc = mx.io.DataDesc("a", (1, 2), "int8", "TN")
    assert copied(desc) == desc
    assert repr(copied(desc)) == "DataDesc[a,(1, 2),int8,TN]"


def test_descriptions_of_types_that_numpy_does_not_know():
    half = mx.io.DataDesc("a", (1,), "bfloat16")
    assert half == mx.io.DataDesc("a", (1,), "bfloat16")
    assert half != mx.io.DataDesc("a", (1,))


@pytest.mark.parametrize("what", ["data", "label"])
def test_batch_of_a_lone_array(what):
    with pytest.raises(mx.errors.DataArgumentError) as caught:
        mx.io.DataBatch(**{"data": [], what: mx.nd.ones(2)})
    assert str(caught.value) == (
        f"DataBatch: {what}: a NDArray, expected a list of NDArrays\n  try: {what}=[array]"
    )


# -- arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.array, mx.nd.array])
def test_later_writes_to_the_source_do_not_reach_the_batches(make):
    source = make(ROWS)
    data = mx.io.NDArrayIter(source, batch_size=5)
    source[:] = -1
    assert _all(data) == ROWS.reshape(2, 5, 2).tolist()


def test_writes_to_a_batch_reach_neither_the_source_nor_other_batches():
    source = mx.nd.array(ROWS)
    data = mx.io.NDArrayIter(source, batch_size=5)
    for batch in data:
        batch.data[0][:] = -1
        first = batch.data[0]
        first += 1
        batch.data[0][1:3] *= 2
    data.reset()
    assert _all(data) == ROWS.reshape(2, 5, 2).tolist()
    assert source.asnumpy().tolist() == ROWS.tolist()


@pytest.mark.parametrize("make", [lambda ctx: ROWS, lambda ctx: mx.nd.array(ROWS, ctx)])
def test_batches_are_on_the_device_of_the_data(make):
    with mx.cpu(2):
        data = mx.io.NDArrayIter(make(mx.cpu(2)), batch_size=5)
    data.iter_next()
    (array,) = data.getdata()
    assert array.context == mx.cpu(2)
    assert array.jax.devices() == {mx.cpu(2).device}


@pytest.mark.parametrize("axis", [0, 1])
def test_data_on_an_accelerator_are_gathered_on_it(axis):
    values = np.arange(24.0).reshape(6, 4)
    with jax.enable_x64(True):
        source = Source("data", jax.device_put(values, mx.cpu(1).device), mx.cpu(1))
    for rows in (np.array([1, 2, 3]), np.array([3, 0, 1])):
        taken = source.take(rows, axis)
        assert taken.asnumpy().tolist() == values.take(rows, axis).tolist()
        assert taken.dtype == np.float64
        assert taken.jax.devices() == {mx.cpu(1).device}


def test_shuffled_batches_hold_every_example_with_its_label():
    data = mx.io.NDArrayIter(ROWS, ROWS[:, 1], 3, shuffle=True, last_batch_handle="roll_over")
    orders = []
    for _ in range(3):
        batches = list(data)
        rows = np.concatenate([b.data[0].asnumpy() for b in batches])
        labels = np.concatenate([b.label[0].asnumpy() for b in batches])
        assert rows[:, 1].tolist() == labels.tolist()
        orders.append(labels.tolist())
        data.reset()
    assert sorted(orders[0] + orders[1][:1]) == sorted(ROWS[:, 1])
    assert orders[0] != sorted(orders[0])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"data": None}, "NDArrayIter: data: there is none"),
        (
            {"data": "abc"},
            "NDArrayIter: data: a str, expected an array, a list of arrays or a dict",
        ),
        (
            {"label": {"y": "abc"}},
            "NDArrayIter: 'y': array: 'abc' (str) is not an array of float32\n"
            "  try: a number, a regular nested list, a NumPy array or an NDArray",
        ),
        (
            {"label": ROWS[:5]},
            "NDArrayIter: 'softmax_label': 5 examples, expected 10\n  because 'data' has 10",
        ),
        (
            {"layout": "TC"},
            "NDArrayIter: 'data': shape (10, 2) has no batch axis in layout 'TC'\n"
            "  try: a layout whose 'N' stands for an axis of every array",
        ),
        (
            {"layout": "TNC", "label": ROWS[0]},
            "NDArrayIter: 'softmax_label': shape (2,) has no batch axis in layout 'TNC'\n"
            "  try: a layout whose 'N' stands for an axis of every array",
        ),
        (
            {"last_batch_handle": "keep"},
            "NDArrayIter: last_batch_handle: 'keep', expected one of pad, discard, roll_over",
        ),
        ({"batch_size": 0}, "NDArrayIter: batch_size: 0, expected at least 1"),
    ],
)
def test_arrays_that_cannot_be_iterated(options, text):
    with pytest.raises(mx.MXNetError) as caught:
        mx.io.NDArrayIter(**{"data": ROWS, **options})
    assert str(caught.value) == text


def test_reading_without_a_batch():
    data = mx.io.NDArrayIter(ROWS, batch_size=5)
    with pytest.raises(mx.io.BatchError) as caught:
        data.getdata()
    assert str(caught.value) == "NDArrayIter: it has no batch yet\n  try: call next()"
    list(data)
    with pytest.raises(mx.io.BatchError) as caught:
        data.getlabel()
    assert str(caught.value) == "NDArrayIter: it is at its end\n  try: call reset()"


# -- iterators over iterators ------------------------------------------------------------------


class _Failing(mx.io.NDArrayIter):
    """Fails at its second batch, once."""

    failed = False

    def next(self):
        if self.cursor >= 0 and not self.failed:
            self.failed = True
            raise OSError("the disk is gone")
        return super().next()


def test_an_error_in_the_thread_is_raised_and_reset_goes_on():
    data = mx.io.PrefetchingIter(_Failing(ROWS, batch_size=5))
    next(data)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            next(data)
    data.reset()
    assert _all(data) == ROWS.reshape(2, 5, 2).tolist()
    with pytest.raises(StopIteration):
        next(data)


def test_layouts_survive_new_names():
    data = mx.io.NDArrayIter(ROWS.reshape(2, 10, 1), batch_size=5, layout="TNC")
    both = mx.io.PrefetchingIter([data], rename_data=[{"data": "x"}])
    assert both.batch_size == 5
    assert both.provide_data == [mx.io.DataDesc("x", (2, 5, 1), "float32", "TNC")]


def test_batches_come_from_other_threads_one_ahead():
    taken = []

    class Recording(mx.io.NDArrayIter):
        def next(self):
            taken.append(threading.current_thread().name)
            return super().next()

    data = mx.io.PrefetchingIter([Recording(ROWS, batch_size=5), Recording(ROWS, batch_size=5)])
    next(data)
    data.reset()
    assert len(taken) >= 4
    assert all(name.startswith("prefetch") for name in taken)


def test_threads_end_with_the_iterator():
    before = set(threading.enumerate())
    data = mx.io.PrefetchingIter(mx.io.NDArrayIter(ROWS, batch_size=5))
    next(data)
    (thread,) = set(threading.enumerate()) - before
    del data
    thread.join(5)
    assert not thread.is_alive()


def test_iterators_that_do_not_match():
    def run(*sizes):
        with pytest.raises(mx.io.BatchError) as caught:
            list(mx.io.PrefetchingIter([mx.io.NDArrayIter(ROWS[:n], batch_size=4) for n in sizes]))
        return str(caught.value)

    assert run(8, 4) == "PrefetchingIter: iterator 1 ended before the others"
    assert run(8, 7) == "PrefetchingIter: the iterators' batches have pads [0, 1]"


def test_bucket_key_of_a_resized_iterator():
    data = mx.rnn.BucketSentenceIter([[1, 2, 3]] * 4, 2, buckets=[3])
    assert mx.io.ResizeIter(data, 1).default_bucket_key == 3


# -- files -------------------------------------------------------------------------------------


def _mnist(folder, count=6, compress: Callable[[bytes], bytes] = bytes):
    images = np.arange(count * 4, dtype=np.uint8).reshape(count, 2, 2)
    paths = {"image": folder / "images", "label": folder / "labels"}
    header = struct.pack(">iiii", 2051, count, 2, 2)
    paths["image"].write_bytes(compress(header + images.tobytes()))
    paths["label"].write_bytes(compress(struct.pack(">ii", 2049, count) + bytes(range(count))))
    return {**paths, "batch_size": 2, "shuffle": False, "silent": True}


def test_gzipped_images(tmp_path):
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.mkdir()
    packed.mkdir()
    ours = _all(mx.io.MNISTIter(**_mnist(packed, compress=gzip.compress)))
    assert ours == _all(mx.io.MNISTIter(**_mnist(plain)))
    assert np.ravel(ours[0])[:3].tolist() == [0, 1 / 256, 2 / 256]


def test_images_are_numbered_by_their_position_in_the_file(tmp_path):
    options = {**_mnist(tmp_path), "shuffle": True, "seed": 3}
    rows = np.concatenate([b.index for b in mx.io.MNISTIter(**options)])
    assert rows.tolist() == shuffled_indices(6, 3).tolist()
    assert rows.dtype == np.uint64


def test_a_shuffle_repeats_biased_draws(monkeypatch):
    class Generator:
        def __init__(self, seed):
            self.numbers = iter([5, 2**32 - 1, 2**32 - 1, 7, 2**31 + 9])

        def randint(self, low, high, count, dtype):
            return np.array([next(self.numbers) for _ in range(count)], dtype)

    monkeypatch.setattr(np.random, "RandomState", Generator)
    # 2**32 - 1 is beyond the last whole interval of thirds and of quarters.
    numbers = [5 // (2**32 // 2), 7 // ((2**32 - 1) // 3), (2**31 + 9) // ((2**32 - 1) // 4)]
    expected = [0, 1, 2, 3]
    for i, j in enumerate(numbers, start=1):
        expected[i], expected[j] = expected[j], expected[i]
    draws = np.array([2**32 - 1], np.uint64)
    assert draws // ((2**32 - 1) // 4) >= 4 or draws // ((2**32 - 1) // 3) >= 3
    assert shuffled_indices(4, 0).tolist() == expected


@pytest.mark.parametrize("count", [0, 1])
def test_shuffles_of_very_few_elements(count):
    assert shuffled_indices(count, 0).tolist() == list(range(count))


def _refused_image(folder, content):
    options = _mnist(folder)
    options["image"].write_bytes(content)
    with pytest.raises(mx.MXNetError) as caught:
        mx.io.MNISTIter(**options)
    assert isinstance(caught.value, ValueError)
    return str(caught.value).removeprefix(str(options["image"]))


def test_files_that_hold_no_images(tmp_path):
    header = struct.pack(">iiii", 2051, 2**31 - 1, 2, 2)
    mark = ": it does not start with 2051, the mark of such a file"
    assert _refused_image(tmp_path, b"") == mark
    assert _refused_image(tmp_path, struct.pack(">iiii", 2049, 6, 2, 2)) == mark
    assert _refused_image(tmp_path, header + b"1234") == (
        ": it holds 4 values, expected 8589934588\n  because its header says (2147483647, 2, 2)"
    )
    packed = gzip.compress(header + bytes(range(256)))
    assert _refused_image(tmp_path, packed[:-10]) == ": the gzipped file is truncated"
    one = struct.pack(">iiii", 2051, 1, 2, 2) + b"1234"
    options = _mnist(tmp_path)
    options["image"].write_bytes(one)
    with pytest.raises(ValueError, match="labels: 6 labels, expected 1"):
        mx.io.MNISTIter(**options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 7}, "MNISTIter: batch_size: 7 of 6 examples"),
        ({"batch_size": 0}, "MNISTIter: batch_size: 0, expected an integer from 1 on"),
        ({"num_parts": 2, "part_index": 2}, "MNISTIter: part_index: 2, expected 0 to 1"),
        ({"dtype": "uint8"}, "MNISTIter: dtype: uint8, expected float32"),
    ],
)
def test_invalid_options_of_image_iterators(tmp_path, options, text):
    with pytest.raises(mx.errors.DataArgumentError) as caught:
        mx.io.MNISTIter(**{**_mnist(tmp_path), **options})
    assert str(caught.value) == text


def test_flags_as_texts(tmp_path):
    options: Any = _mnist(tmp_path) | {"shuffle": "False", "flat": "1"}
    assert np.concatenate([b.index for b in mx.io.MNISTIter(**options)]).tolist() == list(range(6))
    with pytest.raises(mx.errors.DataArgumentError, match="shuffle: 'no', expected a boolean"):
        mx.io.MNISTIter(**options | {"shuffle": "no"})
    (tmp_path / "data.csv").write_text("1\n2\n3\n")
    options = {"data_csv": tmp_path / "data.csv", "data_shape": (1,), "round_batch": "False"}
    data = mx.io.CSVIter(batch_size=2, **options)
    assert next(data).pad == 0
    assert next(data).data[0].asnumpy().tolist() == [[3], [2]]


def test_first_batch_of_a_csv_file_that_is_not_full(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2\n3,4\n")
    data = mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=3, round_batch=False)
    batch = next(data)
    assert batch.data[0].asnumpy().tolist() == [[1, 2], [3, 4], [0, 0]]
    assert (batch.pad, batch.index.tolist()) == (1, [0, 1, 0])


def test_labels_of_a_csv_file_with_several_numbers(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2\n3,4\n")
    data = mx.io.CSVIter(
        data_csv=path, data_shape=(2,), batch_size=2, label_csv=path, label_shape=(2, 1)
    )
    assert next(data).label[0].asnumpy().tolist() == [[[1], [2]], [[3], [4]]]
    with pytest.raises(StopIteration):
        next(data)
    with pytest.raises(mx.MXNetError, match=r"CSVIter: it has no current batch"):
        data.getdata()


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        (
            "1,2\n",
            {"data_shape": (3,)},
            "a row has 2 numbers, expected 3\n  because an example has",
        ),
        ("1,2\n3\n", {}, "the number of columns changed from 2 to 1 at row 2"),
        ("a,b\n", {}, "could not convert string 'a' to float32"),
        ("1,2\n", {"data_shape": None}, "CSVIter: data_shape: it is missing"),
        ("1,2\n", {"data_shape": (0,)}, "CSVIter: data_shape: (0,), expected sizes from 1 on"),
        ("1,2\n", {"data_shape": 2}, "CSVIter: data_shape: 2, expected a tuple of integers"),
        ("1,2\n", {"batch_size": None}, "CSVIter: batch_size: it is missing"),
        ("1,2\n", {"data_csv": None}, "CSVIter: data_csv: it is missing"),
        ("1,2\n", {"dtype": "int8"}, "CSVIter: dtype: int8, expected one of float32, int32, int64"),
    ],
)
def test_csv_files_that_do_not_fit(tmp_path, content, options, text):
    path = tmp_path / "data.csv"
    path.write_text(content)
    with pytest.raises(mx.MXNetError) as caught:
        mx.io.CSVIter(**{"data_csv": path, "data_shape": (2,), "batch_size": 1, **options})
    assert isinstance(caught.value, ValueError)
    assert text in str(caught.value)


def test_fewer_labels_than_rows(tmp_path):
    data, label = tmp_path / "data.csv", tmp_path / "label.csv"
    data.write_text("1\n2\n")
    label.write_text("1\n")
    with pytest.raises(ValueError, match=r"label.csv: it has 1 rows, expected 2"):
        mx.io.CSVIter(data_csv=data, data_shape=(1,), batch_size=1, label_csv=label)
