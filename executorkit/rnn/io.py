"""``mx.rnn.io``: encoding of sentences, and batches of sentences of similar length."""

import bisect
import logging
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import UnknownNameError
from ..io import BatchError, DataBatch, DataDesc, DataIter
from ..ndarray import NDArray, array


def encode_sentences(
    sentences: Iterable[Iterable[Any]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    r"""Returns numbers for the tokens of sentences, and the vocabulary {token: number}.

    vocab
        The vocabulary. None: a new one, in which ``invalid_key`` has the number ``invalid_label``,
        and tokens are numbered from ``start_label``, skipping ``invalid_label``.
    unknown_token
        The token for tokens outside ``vocab``; without it they raise an AssertionError. As in
        MXNet, each of them gives ``unknown_token`` a new number in ``vocab``.

    >>> encode_sentences([["a", "b"], ["b", "c"]])
    ([[0, 1], [1, 2]], {'\n': -1, 'a': 0, 'b': 1, 'c': 2})
    """
    is_new = vocab is None
    numbers = {invalid_key: invalid_label} if vocab is None else vocab
    next_number = start_label
    encoded = []
    for sentence in sentences:
        codes = []
        for token in sentence:
            if token not in numbers:
                if not is_new and not unknown_token:
                    problem = f"{token!r} is not in the vocabulary"
                    hint = "unknown_token='<unknown>'"
                    raise UnknownNameError("encode_sentences", problem, hint=hint)
                next_number += next_number == invalid_label
                token = unknown_token or token
                numbers[token] = next_number
                next_number += 1
            codes.append(numbers[token])
        encoded.append(codes)
    return encoded, numbers


class BucketSentenceIter(DataIter):
    """Batches of encoded sentences, each padded to the length of its bucket.

    sentences
        Lists of numbers.
    buckets
        The lengths; by default all lengths of at least ``batch_size`` sentences. A sentence goes to
        the smallest bucket that is long enough; longer sentences are dropped, with a warning in the
        log, as are empty buckets.
    invalid_label
        The padding at the end of sentences.
    dtype
        The dtype of the batches; described dtypes are float32, as in MXNet.
    layout
        'NT': a batch is (batch_size, length); 'TN': (length, batch_size).

    Labels are the following tokens, ``invalid_label`` at the end. ``batch.bucket_key`` is the
    length, ``default_bucket_key`` the longest. Incomplete batches are dropped. Batches are shuffled
    by ``random``, sentences within a bucket by ``numpy.random``, at the start and at every reset.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise BatchError("BucketSentenceIter: layout", f"{layout!r}, expected 'NT' or 'TN'")
        if not buckets:
            counts = np.bincount([len(s) for s in sentences])
            buckets = [int(n) for n in np.flatnonzero(counts >= batch_size)]
        lengths = sorted(buckets)
        sentences_by_length = _fill(sentences, lengths, invalid_label, dtype)
        if not sentences_by_length:
            none = "" if lengths else f": no length has {batch_size} sentences"
            because, hint = f"buckets are {lengths}{none}", "buckets=[length, ...]"
            problem = "no sentence fits into any"
            raise BatchError("BucketSentenceIter: buckets", problem, because=because, hint=hint)
        self.buckets = list(sentences_by_length)
        self.data = list(sentences_by_length.values())
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.layout = layout
        self.major_axis = DataDesc.get_batch_axis(layout)
        self.default_bucket_key = max(self.buckets)
        self.provide_data = [self._describe(data_name, self.default_bucket_key)]
        self.provide_label = [self._describe(label_name, self.default_bucket_key)]
        self.idx = [
            (i, j)
            for i, bucket in enumerate(self.data)
            for j in range(0, len(bucket) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _describe(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length)
        return DataDesc(name, shape[:: -1 if self.major_axis else 1], layout=self.layout)

    def reset(self) -> None:
        self.curr_idx = 0
        random.shuffle(self.idx)
        for bucket in self.data:
            np.random.shuffle(bucket)

    def next(self) -> DataBatch:
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        tokens = self.data[bucket][start : start + self.batch_size]
        following = np.full_like(tokens, self.invalid_label)
        following[:, :-1] = tokens[:, 1:]
        length = self.buckets[bucket]
        return DataBatch(
            [self._array(tokens)],
            [self._array(following)],
            pad=0,
            bucket_key=length,
            provide_data=[self._describe(self.data_name, length)],
            provide_label=[self._describe(self.label_name, length)],
        )

    def _array(self, sentences: np.ndarray) -> NDArray:
        return array(sentences.T if self.major_axis else sentences, dtype=self.dtype)


def _fill(
    sentences: Sequence[Sequence[int]], lengths: Sequence[int], padding: int, dtype: str
) -> dict[int, np.ndarray]:
    rows: dict[int, list[np.ndarray]] = {length: [] for length in lengths}
    too_long = 0
    for sentence in sentences:
        bucket = bisect.bisect_left(lengths, len(sentence))
        if bucket == len(lengths):
            too_long += 1
            continue
        row = np.full(lengths[bucket], padding, dtype)
        row[: len(sentence)] = sentence
        rows[lengths[bucket]].append(row)
    if too_long:
        logging.warning(
            "BucketSentenceIter: %d sentences are longer than the largest bucket and left out",
            too_long,
        )
    return {length: np.stack(sentences) for length, sentences in rows.items() if sentences}
