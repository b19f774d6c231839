"""Checkpoints: file names, prefixes, what is left out, and what happens when something is wrong."""

from __future__ import annotations

import inspect
import logging
import os

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import FileFormatError

pytestmark = pytest.mark.processes


@pytest.fixture
def net():
    return mx.sym.BatchNorm(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="bn"
    )


@pytest.fixture
def arg_params():
    return {"fc_weight": mx.nd.array([[1, 2, 3], [4, 5, 6]]), "fc_bias": mx.nd.array([7, 8])}


@pytest.fixture
def aux_params():
    return {"bn_moving_mean": mx.nd.array([9, 10]), "bn_moving_var": mx.nd.array([11, 12])}


def test_signatures_and_batch_end_param_are_mxnets():
    signature = inspect.signature(mx.model.load_checkpoint)
    unannotated = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    assert str(signature.replace(parameters=unannotated, return_annotation="")) == (
        "(prefix, epoch) -> ''"
    )
    parameters = inspect.signature(mx.model.save_checkpoint).parameters
    assert [*parameters] == [
        "prefix", "epoch", "symbol", "arg_params", "aux_params", "remove_amp_cast"
    ]  # fmt: skip
    assert parameters["remove_amp_cast"].default is True
    assert mx.model.BatchEndParam.__name__ == "BatchEndParams"
    assert mx.model.BatchEndParam._fields == ("epoch", "nbatch", "eval_metric", "locals")


def test_saved_parameters_are_loaded(tmp_path, net, arg_params, aux_params):
    prefix = tmp_path / "model"
    mx.model.save_checkpoint(prefix, 7, net, arg_params, aux_params)
    assert sorted(os.listdir(tmp_path)) == ["model-0007.params", "model-symbol.json"]
    symbol, args, aux = mx.model.load_checkpoint(prefix, 7)
    assert symbol.tojson() == net.tojson()
    for loaded, saved in ((args, arg_params), (aux, aux_params)):
        assert list(loaded) == list(saved)
        for name, array in saved.items():
            np.testing.assert_array_equal(loaded[name].asnumpy(), array.asnumpy())
    again = mx.model.load_params(prefix, 7)
    assert [list(params) for params in again] == [list(arg_params), list(aux_params)]


def test_entries_carry_their_kind(tmp_path, net, arg_params, aux_params):
    mx.model.save_checkpoint(str(tmp_path / "m"), 0, net, arg_params, aux_params)
    assert list(mx.nd.load(str(tmp_path / "m-0000.params"))) == [
        "arg:fc_weight", "arg:fc_bias", "aux:bn_moving_mean", "aux:bn_moving_var"
    ]  # fmt: skip


@pytest.mark.parametrize(("epoch", "name"), [(12345, "m-12345.params"), (-1, "m--001.params")])
def test_epochs_that_are_not_four_digits(tmp_path, arg_params, epoch, name):
    mx.model.save_checkpoint(tmp_path / "m", epoch, None, arg_params, {})
    assert os.listdir(tmp_path) == [name]


def test_mixed_precision_casts_are_removed_unless_asked_for(tmp_path):
    cast = mx.sym.amp_cast(mx.sym.Variable("data"), dtype="float16")
    net = mx.sym.FullyConnected(cast, num_hidden=2, name="fc")
    names = {}
    for remove in (True, False):
        mx.model.save_checkpoint(tmp_path / "m", 1, net, {}, {}, remove)
        symbol = mx.sym.load(str(tmp_path / "m-symbol.json"))
        names[remove] = symbol.get_internals().list_outputs()
    assert names[True] == ["data", "fc_weight", "fc_bias", "fc_output"]
    assert len(names[False]) == 5


def test_other_kinds_are_ignored_and_names_may_hold_colons(tmp_path):
    one = mx.nd.ones((1,))
    mx.nd.save(str(tmp_path / "m-0001.params"), {"grad:w": one, "arg:w:x": one, "aux:s": one})
    args, aux = mx.model.load_params(tmp_path / "m", 1)
    assert (list(args), list(aux)) == (["w:x"], ["s"])


def test_a_file_without_entries_is_warned_of(tmp_path, caplog):
    mx.nd.save(str(tmp_path / "m-0001.params"), {})
    with caplog.at_level(logging.WARNING):
        assert mx.model.load_params(tmp_path / "m", 1) == ({}, {})
    assert caplog.messages == [f"Params file '{tmp_path}/m-0001.params' is empty"]


def test_missing_files(tmp_path, net):
    with pytest.raises(mx.MXNetError, match=r"none-symbol\.json: .*No such file or directory"):
        mx.model.load_checkpoint(tmp_path / "none", 1)
    net.save(str(tmp_path / "half-symbol.json"))
    with pytest.raises(mx.MXNetError, match=r"half-0001\.params: .*No such file or directory"):
        mx.model.load_checkpoint(tmp_path / "half", 1)


def test_a_missing_epoch_is_explained_by_those_there(tmp_path, net):
    for epoch in (*range(1, 12), 30000):
        mx.model.save_checkpoint(tmp_path / "m", epoch, net, {}, {})
    (tmp_path / "m-x.params").touch()
    with pytest.raises(mx.MXNetError) as caught:
        mx.model.load_params(tmp_path / "m", 12)
    assert str(caught.value) == (
        f"{tmp_path}/m-0012.params: cannot be read: No such file or directory\n"
        "  try: one of the epochs there: ..., 3, 4, 5, 6, 7, 8, 9, 10, 11, 30000"
    )
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("ending", ["-0001.params", "-symbol.json", ".params", "-0001.states"])
def test_the_name_of_a_file_is_no_prefix(tmp_path, net, ending):
    mx.model.save_checkpoint(tmp_path / "m", 1, net, {}, {})
    for load in (mx.model.load_checkpoint, mx.model.load_params):
        with pytest.raises(mx.MXNetError) as caught:
            load(f"{tmp_path}/m{ending}", 1)
        assert str(caught.value).splitlines()[1:] == [
            f"  because the prefix '{tmp_path}/m{ending}' is the name of a file",
            f"  try: the prefix '{tmp_path}/m'",
        ]


def test_entries_without_kind(tmp_path):
    path = tmp_path / "m-0001.params"
    mx.nd.save(str(path), {"fc_weight": mx.nd.ones((1,))})
    with pytest.raises(FileFormatError) as caught:
        mx.model.load_params(tmp_path / "m", 1)
    assert str(caught.value) == (
        f"load_params: {path}: the entry 'fc_weight' has no kind, expected 'arg:fc_weight' or "
        "'aux:fc_weight'\n"
        "  because it is not a checkpoint; files that Gluon's save_parameters wrote are not\n"
        "  try: mx.nd.load(file), which gives a dict of all entries"
    )
    assert isinstance(caught.value, ValueError)


def test_arrays_without_names(tmp_path):
    path = tmp_path / "m-0001.params"
    mx.nd.save(str(path), [mx.nd.ones((1,))])
    with pytest.raises(FileFormatError) as caught:
        mx.model.load_params(tmp_path / "m", 1)
    assert str(caught.value) == (
        f"load_params: {path}: 1 arrays without names, expected names such as 'arg:fc1_weight'\n"
        "  try: mx.nd.load(file), which gives the list"
    )


@pytest.mark.parametrize(
    ("args", "aux", "message"),
    [
        (
            {"w": 3},
            {},
            "save_checkpoint: arg_params['w']: a int, expected an NDArray\n"
            "  try: mx.nd.array(value)",
        ),
        ({}, None, "save_checkpoint: aux_params: a NoneType, expected a dict of NDArray"),
    ],
)
def test_a_refused_value_leaves_no_file(tmp_path, net, args, aux, message):
    with pytest.raises(TypeError) as caught:
        mx.model.save_checkpoint(tmp_path / "m", 1, net, args, aux)
    assert str(caught.value) == message
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_checkpoint(tmp_path, net, arg_params, monkeypatch):
    mx.model.save_checkpoint(tmp_path / "m", 1, net, arg_params, {})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(mx.MXNetError, match="No space left on device"):
        mx.model.save_checkpoint(tmp_path / "m", 1, net, {"fc_weight": mx.nd.zeros((2, 3))}, {})
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
