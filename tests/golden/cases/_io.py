"""Scripts about iterators, run with MXNet as ``mx`` once and with executorkit ever after.

``VALUES`` take mx and an empty folder and return something that JSON can hold; ``ERRORS`` must
raise, and the class is compared.
"""

from __future__ import annotations

import random
import struct

import numpy as np

VALUES = {}
ERRORS = {}


def value(function):
    VALUES[function.__name__] = function
    return function


def error(function):
    ERRORS[function.__name__] = function
    return function


ROWS = np.arange(20).reshape(10, 2)


def _described(descriptions):
    return [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in descriptions]


def _batch(batch):
    return {
        "data": [x.asnumpy().tolist() for x in batch.data],
        "label": [x.asnumpy().tolist() for x in batch.label],
        "pad": batch.pad,
    }


def _epochs(iterator, count=3):
    contents = [_described(iterator.provide_data), _described(iterator.provide_label)]
    contents.append(iterator.batch_size)
    for _ in range(count):
        contents.append([_batch(b) for b in iterator])
        iterator.reset()
    return contents


@value
def descriptions(mx, folder):
    desc = mx.io.DataDesc("a", (1, 2))
    return [
        repr(desc),
        desc == ("a", (1, 2)),
        tuple(desc),
        desc[1],
        np.dtype(desc.dtype).name,
        [mx.io.DataDesc.get_batch_axis(x) for x in (None, "NCHW", "TNC", "TC")],
        [repr(d) for d in mx.io.DataDesc.get_list([("a", (1,)), ("b", (2,))], None)],
        [repr(d) for d in mx.io.DataDesc.get_list([("a", (1,))], [("a", "int8"), ("b", "int32")])],
    ]


@value
def batch_in_words(mx, folder):
    one, two = mx.nd.ones((2, 3)), mx.nd.ones((2,))
    return [str(mx.io.DataBatch([one], [two])), str(mx.io.DataBatch([one, two]))]


def _arrays(name, **options):
    VALUES[name] = lambda mx, folder: _epochs(
        mx.io.NDArrayIter(**{"data": ROWS, "label": ROWS[:, 1], **options})
    )


for _how in ("pad", "discard", "roll_over"):
    for _size in (1, 3, 4, 5, 10, 27):
        if _how != "roll_over" or _size != 27:
            _arrays(f"arrays_{_how}_{_size}", batch_size=_size, last_batch_handle=_how)
_arrays("arrays_roll_over_larger", batch_size=14, last_batch_handle="roll_over")
_arrays("arrays_without_labels", label=None, batch_size=4)
_arrays("arrays_named", batch_size=4, data_name="x", label_name="y")
_arrays("arrays_listed", data=[ROWS, ROWS + 1], label=[ROWS[:, 0], ROWS[:, 1]], batch_size=5)
_arrays("arrays_by_name", data={"b": ROWS, "a": ROWS * 2}, label={"z": ROWS}, batch_size=5)
_arrays("arrays_of_lists", data=[[1, 2, 3], [4, 5, 6]], label=None, batch_size=2)
_arrays("arrays_longer_labels", label=np.arange(15), batch_size=5, last_batch_handle="discard")
_arrays(
    "arrays_second_axis",
    data=np.arange(32).reshape(4, 4, 2), label=np.arange(16).reshape(4, 4), batch_size=3,
    layout="TNC",
)  # fmt: skip


@value
def array_types(mx, folder):
    data = {"b": ROWS.astype("float64"), "a": mx.nd.array(ROWS, dtype="int32")}
    return _epochs(mx.io.NDArrayIter(data, mx.nd.array([7] * 10, dtype="uint8"), 4), 1)


def _shuffled(how):
    def script(mx, folder):
        np.random.seed(3)
        data = mx.io.NDArrayIter(ROWS, ROWS[:, 1], 4, True, how)
        contents = _epochs(data)
        data.hard_reset()
        contents.append([_batch(b) for b in data])
        contents += [data.num_data, data.num_source, data.idx.tolist()]
        return [*contents, data.data[0][1].asnumpy().tolist()]

    VALUES[f"arrays_shuffled_{how}"] = script


for _how in ("pad", "discard", "roll_over"):
    _shuffled(_how)


@value
def arrays_step_by_step(mx, folder):
    data = mx.io.NDArrayIter(ROWS, ROWS[:, 1], 4)
    contents = []
    while data.iter_next():
        batch = [data.getdata()[0].asnumpy().tolist(), data.getlabel()[0].asnumpy().tolist()]
        contents.append([*batch, data.getpad(), data.getindex()])
    return contents


@value
def resized(mx, folder):
    longer = mx.io.ResizeIter(mx.io.NDArrayIter(ROWS, ROWS, batch_size=4), 5)
    on = mx.io.ResizeIter(mx.io.NDArrayIter(ROWS, ROWS, batch_size=4), 2, reset_internal=False)
    return [_epochs(longer), _epochs(on)]


@value
def prefetched(mx, folder):
    one = mx.io.NDArrayIter(ROWS, ROWS[:, 0], batch_size=4)
    two = mx.io.NDArrayIter({"z": ROWS + 1}, {"zz": ROWS}, batch_size=4)
    both = mx.io.PrefetchingIter(
        [one, two],
        rename_data=[{"data": "a"}, {"z": "b"}],
        rename_label=[{"softmax_label": "c"}, {"zz": "d"}],
    )
    lone = mx.io.PrefetchingIter(mx.io.NDArrayIter(ROWS, ROWS, batch_size=4))
    both.next()
    both.reset()
    batch = both.next()
    descriptions = [_described(batch.provide_data), _described(batch.provide_label)]
    both.reset()
    return [descriptions, _epochs(both), _epochs(lone)]


def _csv(name, **options):
    def script(mx, folder):
        data, label = str(folder / "data.csv"), str(folder / "label.csv")
        np.savetxt(data, np.arange(21).reshape(7, 3), delimiter=",", fmt="%g")
        np.savetxt(label, np.arange(7) * 10, delimiter=",", fmt="%g")
        arguments = {"data_csv": data, "data_shape": (3,), "batch_size": 3, "label_csv": label}
        arguments.update(options)
        first = [b.index.tolist() for b in mx.io.CSVIter(**arguments)]
        return [first, _epochs(mx.io.CSVIter(**arguments))]

    VALUES[f"csv_{name}"] = script


_csv("rounded")
_csv("whole", batch_size=7)
_csv("not_rounded", round_batch=False)
_csv("without_labels", label_csv="NULL")
_csv("int32", dtype="int32")
_csv("shaped", data_shape=(3, 1), data_name="x", label_name="y")


def _mnist_files(folder, count):
    images = np.random.RandomState(0).randint(0, 256, (count, 2, 3)).astype(np.uint8)
    labels = (np.arange(count) % 251).astype(np.uint8)
    image, label = str(folder / "images"), str(folder / "labels")
    with open(image, "wb") as file:
        file.write(struct.pack(">iiii", 2051, count, 2, 3) + images.tobytes())
    with open(label, "wb") as file:
        file.write(struct.pack(">ii", 2049, count) + labels.tobytes())
    return {"image": image, "label": label, "silent": True}


def _mnist(name, count=13, **options):
    def script(mx, folder):
        arguments = {"batch_size": 5, "shuffle": False, **_mnist_files(folder, count), **options}
        return _epochs(mx.io.MNISTIter(**arguments), 2)

    VALUES[f"mnist_{name}"] = script


_mnist("in_order")
_mnist("flat", flat=True)
_mnist("shuffled", shuffle=True)
_mnist("shuffled_otherwise", shuffle=True, seed=5)
_mnist("part", num_parts=2, part_index=1)
_mnist("middle_part", batch_size=4, num_parts=3, part_index=1)
_mnist("last_part", num_parts=3, part_index=2)
_mnist("part_shuffled", num_parts=2, part_index=1, shuffle=True)


@value
def mnist_many_shuffled(mx, folder):
    files = _mnist_files(folder, 1000)
    data = mx.io.MNISTIter(batch_size=1000, shuffle=True, seed=7, **files)
    return next(data).label[0].asnumpy().astype(int).tolist()


SENTENCES = [[1, 2, 3], [4, 5], [6, 7, 8], [9], [1, 1], [2, 2, 2, 2, 2], [3, 3, 3, 3], [8, 9]]


def _sentences(name, **options):
    def script(mx, folder):
        random.seed(1)
        np.random.seed(1)
        data = mx.rnn.BucketSentenceIter(SENTENCES, 2, **options)
        contents = [_described(data.provide_data), _described(data.provide_label)]
        contents += [data.buckets, data.default_bucket_key, data.batch_size]
        for _ in range(2):
            for batch in data:
                descriptions = [_described(batch.provide_data), _described(batch.provide_label)]
                kind = np.dtype(batch.data[0].dtype).name
                contents.append([_batch(batch), batch.bucket_key, descriptions, kind])
            data.reset()
        return contents

    VALUES[f"sentences_{name}"] = script


_sentences("automatic")
_sentences("in_buckets", buckets=[3, 2], invalid_label=0)
_sentences("time_first", buckets=[2, 3, 5], invalid_label=0, layout="TN")
_sentences("int32", buckets=[10, 4], dtype="int32", data_name="x", label_name="y")


@value
def encoded(mx, folder):
    encode, text = mx.rnn.encode_sentences, [["a", "b"], ["b", "c"]]
    return [
        encode(text),
        encode(text, start_label=-1, invalid_label=0),
        encode(text, invalid_label=0, invalid_key="<e>"),
        encode(text, vocab={"a": 1, "b": 2, "c": 0}),
        encode(text, vocab={"a": 1}, unknown_token="<u>", start_label=5),
        encode(text, vocab={"a": 1, "<u>": 2}, unknown_token="<u>"),
    ]


def _error(name, script):
    ERRORS[name] = lambda mx, folder: script(mx)


_error("no_data", lambda mx: mx.io.NDArrayIter(None))
_error("empty_list", lambda mx: mx.io.NDArrayIter([]))
_error("text_as_data", lambda mx: mx.io.NDArrayIter("abc"))
_error("text_in_dict", lambda mx: mx.io.NDArrayIter({"a": "abc"}))
_error("tuple_as_data", lambda mx: mx.io.NDArrayIter((ROWS, ROWS)))
_error("too_few_labels", lambda mx: list(mx.io.NDArrayIter(ROWS, ROWS[:5], batch_size=3)))
_error("array_as_batch", lambda mx: mx.io.DataBatch(mx.nd.ones((2,))))
_error("array_as_labels", lambda mx: mx.io.DataBatch([mx.nd.ones((2,))], mx.nd.ones((2,))))
_error("no_iterators", lambda mx: mx.io.PrefetchingIter([]))
_error("bare_iterator", lambda mx: next(mx.io.DataIter(3)))
_error(
    "unequal_iterators",
    lambda mx: list(
        mx.io.PrefetchingIter(
            [mx.io.NDArrayIter(ROWS[:5], ROWS, 5), mx.io.NDArrayIter(ROWS, ROWS, 5)]
        )
    ),
)
_error("csv_without_file", lambda mx: mx.io.CSVIter(data_shape=(2,), batch_size=1))
_error("csv_absent", lambda mx: mx.io.CSVIter(data_csv="absent", data_shape=(2,), batch_size=1))
_error("mnist_absent", lambda mx: mx.io.MNISTIter(image="absent", label="absent"))
_error("sentence_layout", lambda mx: mx.rnn.BucketSentenceIter(SENTENCES, 2, layout="XX"))
_error("no_bucket", lambda mx: mx.rnn.BucketSentenceIter([[1, 2], [3]], 2))
_error("unknown_token", lambda mx: mx.rnn.encode_sentences([["a"]], vocab={"b": 1}))


@error
def csv_row_of_another_length(mx, folder):
    path = folder / "data.csv"
    path.write_text("1,2,3\n4,5,6\n")
    mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=1)


@error
def mnist_of_labels_only(mx, folder):
    files = _mnist_files(folder, 13)
    mx.io.MNISTIter(**{**files, "image": files["label"]})


@error
def mnist_part_beyond(mx, folder):
    mx.io.MNISTIter(num_parts=2, part_index=3, **_mnist_files(folder, 13))
