"""Chapters of a book on deep learning give the numbers that they give under MXNet."""

from __future__ import annotations

import json
from contextlib import chdir
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import differences, stored_answers
from tests.golden import numpy_scripts

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("numpy_scripts")


@pytest.mark.parametrize("name", list(numpy_scripts.SCRIPTS))
def test_a_chapter_gives_the_numbers_of_mxnet(name: str, tmp_path: Any) -> None:
    with chdir(tmp_path):
        seen = json.loads(json.dumps(numpy_scripts.run(name, mx)))
    assert list(differences(seen, ANSWERS[name], name)) == []


def test_batches_of_workers_and_of_several_devices_are_arrays_of_np() -> None:
    with mx.np_shape(), mx.np_array():
        x = mx.np.arange(8).reshape(4, 2)
        data = mx.gluon.data.ArrayDataset(x, x[:, 0])
        for workers in (0, 1):
            loader = mx.gluon.data.DataLoader(data, 2, num_workers=workers, thread_pool=True)
            batches = list(loader)
            assert [type(part) for part in batches[0]] == [mx.np.ndarray] * 2
            assert batches[1][1].tolist() == [4.0, 6.0]
        parts = mx.gluon.utils.split_and_load(x, [mx.cpu(0), mx.cpu(0)])
        assert [(type(part), part.shape) for part in parts] == [(mx.np.ndarray, (2, 2))] * 2


def test_numbers_of_numpy_on_the_left_are_compared() -> None:
    with mx.np_shape(), mx.np_array():
        x = mx.np.array([1.0, 3.0])
        for number in (np.float64(2), np.float32(2), np.int64(2), np.array(2.0)):
            assert (number > x).tolist() == [True, False]


def test_functions_of_symbols_agree_with_those_of_arrays() -> None:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            first, second = F.np.split(x, 2, axis=1)
            return [
                F.np.where(x > 2, x, F.np.zeros_like(x)), first + second, F.np.argmax(x, axis=1),
                F.np.arange(3), F.np.einsum("ij,ij->i", x, x), x.T, F.np.linalg.norm(x),
                x[:, 1:3], x[0], F.np.clip(x, 0, 1), F.np.stack([x, x]).mean(axis=0),
                F.np.random.uniform(1, 1, (2,)), x.astype("float16"), F.np.dot(x, x.T).max(),
            ]  # fmt: skip

    with mx.np_shape(), mx.np_array():
        net = Net()
        x = mx.np.arange(8).reshape(2, 4)
        plain = net(x)
        net.hybridize()
        for ours, theirs in zip(net(x), plain, strict=True):
            assert type(ours) is mx.np.ndarray
            assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())


def test_comparisons_of_differentiated_arrays_are_terms_of_sums() -> None:
    with mx.np_shape(), mx.np_array():
        x = mx.np.array([1.0, -2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = x**2 - (x >= 0) * 3 + (-x - (x < 0))
        y.backward()
        assert (y.tolist(), x.grad.tolist()) == ([-3.0, 5.0], [1.0, -5.0])
