"""Properties of sentence iterators beyond golden values: errors and log lines."""

from __future__ import annotations

import logging

import pytest

import executorkit as mx


def test_sentences_left_out_are_logged(caplog):
    with caplog.at_level(logging.WARNING):
        mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [5, 6, 7]], 2, buckets=[2])
        mx.rnn.BucketSentenceIter([[1, 2], [3, 4]], 2, buckets=[2])
    assert caplog.messages == [
        "BucketSentenceIter: 1 sentences are longer than the largest bucket and left out"
    ]


def test_buckets_without_sentences():
    with pytest.raises(mx.io.BatchError) as caught:
        mx.rnn.BucketSentenceIter([[1, 2], [3]], 2)
    assert str(caught.value) == (
        "BucketSentenceIter: buckets: no sentence fits into any\n"
        "  because buckets are []: no length has 2 sentences\n"
        "  try: buckets=[length, ...]"
    )
    with pytest.raises(mx.io.BatchError, match=r"because buckets are \[1\]\n"):
        mx.rnn.BucketSentenceIter([[1, 2]], 1, buckets=[1])


def test_unknown_layout():
    with pytest.raises(mx.io.BatchError) as caught:
        mx.rnn.BucketSentenceIter([[1]], 1, layout="NTC")
    assert str(caught.value) == "BucketSentenceIter: layout: 'NTC', expected 'NT' or 'TN'"


def test_token_that_is_not_in_the_vocabulary():
    vocabulary = {"a": 1}
    with pytest.raises(mx.errors.UnknownNameError) as caught:
        mx.rnn.encode_sentences([["a", "b"]], vocab=vocabulary)
    assert str(caught.value) == (
        "encode_sentences: 'b' is not in the vocabulary\n  try: unknown_token='<unknown>'"
    )
    assert vocabulary == {"a": 1}


def test_bucket_arguments_are_not_changed():
    buckets = [3, 2]
    data = mx.rnn.BucketSentenceIter([[1, 2], [1, 2, 3]], 1, buckets=buckets)
    assert buckets == [3, 2]
    assert data.buckets == [2, 3]
