"""Batch normalisation over the devices of a group, and on one device with all rows, are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.parallel._batch_transfer import BatchInput, split_input_slice
from executorkit.parallel._data_parallel_core import DataParallelCore

ROWS = 8
INPUTS = [BatchInput("data", (ROWS, 3, 2, 2)), BatchInput("head", (ROWS, 3, 2, 2))]
RANDOM = np.random.RandomState(0)
DATA = RANDOM.randn(ROWS, 3, 2, 2) * [[[[1]], [[2]], [[3]]]] + RANDOM.randn(ROWS, 1, 1, 1)
HEAD = RANDOM.randn(ROWS, 3, 2, 2)
VALUES = {"bn_gamma": [1.0, -2.0, 0.5], "bn_beta": [0.5, 1.0, -1.0],
          "bn_moving_mean": [0.1, 0.2, 0.3], "bn_moving_var": [1.0, 2.0, 3.0]}  # fmt: skip


def _group(
    devices: list[int], ndev: int, loads: Any = None, name: str = "SyncBatchNorm"
) -> DataParallelCore:
    attrs = {"ndev": ndev, "key": "bn"} if name == "SyncBatchNorm" else {}
    normalise = getattr(mx.sym.contrib if attrs else mx.sym, name)
    x = normalise(mx.sym.Variable("data"), name="bn", fix_gamma=False, momentum=0.5, **attrs)
    x = mx.sym.make_loss(x * mx.sym.Variable("head"))
    group = DataParallelCore(
        x,
        [mx.cpu(i) for i in devices],
        split_input_slice(ROWS, loads or [1] * len(devices)),
        INPUTS,
        ["write"] * len(x.list_arguments()),
    )
    names = [*zip(group.arg_names, group.arg_arrays, strict=True)]
    names += zip(x.list_auxiliary_states(), group.aux_arrays, strict=True)
    for array_name, arrays in names:
        for array in arrays:
            if array_name in VALUES:
                array[:] = np.array(VALUES[array_name])
    return group


def _run(group: DataParallelCore, train: bool, look_first: bool = False) -> dict[str, np.ndarray]:
    """Everything of one step: outputs and gradients of data joined, of parameters added."""
    group.load(INPUTS, [mx.nd.array(DATA), mx.nd.array(HEAD)], "batch")
    group.forward(train)
    if look_first:
        group.outputs[0][0].asnumpy()
    group.backward()
    joined = {"out": group.outputs[0]}
    summed = {}
    for name, arrays in zip(group.arg_names, group.grad_arrays, strict=True):
        assert arrays is not None
        (summed if name in VALUES else joined)[f"gradient of {name}"] = arrays
    results = {
        name: np.concatenate([a.asnumpy() for a in arrays]) for name, arrays in joined.items()
    }
    results |= {name: sum(a.asnumpy() for a in arrays) for name, arrays in summed.items()}
    for name, arrays in zip(("mean", "variance"), group.aux_arrays, strict=True):
        for k, array in enumerate(arrays):
            results[f"moving {name} of device {k}"] = array.asnumpy()
    return results


def _compare(ours: dict[str, np.ndarray], whole: dict[str, np.ndarray]) -> None:
    for name, array in ours.items():
        expected = whole[name if name in whole else f"{name[:-1]}0"]
        np.testing.assert_allclose(array, expected, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("devices", [[0, 1], [0, 1, 2, 3]], ids=["2", "4"])
@pytest.mark.parametrize("look_first", [False, True], ids=["", "outputs looked at first"])
@pytest.mark.parametrize("train", [True, False], ids=["training", "inference"])
def test_devices_share_statistics(devices, look_first, train):
    ours = _run(_group(devices, len(devices)), train, look_first)
    _compare(ours, _run(_group([0], 1, name="BatchNorm"), train))


def test_one_device_counted_does_not_share():
    ours = _run(_group([0, 1], 1), True)
    _compare(ours, _run(_group([0, 1], 1, name="BatchNorm"), True))


def test_slices_that_run_by_themselves_do_not_share():
    ours = _run(_group([0, 1], 2, loads=[1, 3]), True)
    uneven = _run(_group([0, 1], 2, loads=[1, 3], name="BatchNorm"), True)
    _compare(ours, uneven)
