"""Diagnosis of checkpoints: shapes that follow from parameters, and what does not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import FileFormatError, ShapeError, UnknownNameError
from executorkit.inspection import NotFinite, _diagnosis, deduce_inputs, diagnose
from executorkit.ndarray.params_file import ParamsHeaders


def write(folder, symbol, **shapes):
    """Files of a checkpoint whose parameters fit inputs of these shapes."""
    arguments, _, states = symbol.infer_shape(**shapes)
    labels = [n for n in symbol.list_arguments() if n.endswith("label")]
    arrays = {
        f"arg:{n}": mx.nd.ones(s)
        for n, s in zip(symbol.list_arguments(), arguments, strict=True)
        if n not in shapes and n not in labels
    }
    arrays |= {
        f"aux:{n}": mx.nd.ones(s)
        for n, s in zip(symbol.list_auxiliary_states(), states, strict=True)
    }
    symbol.save(str(folder / "net-symbol.json"))
    mx.nd.save(str(folder / "net-0000.params"), arrays)
    return folder / "net-symbol.json", folder / "net-0000.params"


def stored_arrays(path):
    """The arrays of a file by name."""
    arrays = mx.nd.load(str(path))
    assert isinstance(arrays, dict)
    return arrays


def images(pool, hidden=3):
    """A network for images whose dense layer reads what pooling leaves of them."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    if pool == "global":
        x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1))
    else:
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=hidden, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def sequences():
    """A recurrent network with a table of words and an initial state."""
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=9, output_dim=6, name="embed")
    state = mx.sym.Variable("state")
    x = mx.sym.FullyConnected(mx.sym.sum(words, axis=1), num_hidden=5, name="i2h")
    x = x + mx.sym.FullyConnected(state, num_hidden=5, name="h2h")
    return mx.sym.Activation(x, act_type="tanh", name="out")


DEDUCED = {
    "image of any size": (images("global"), {"data": (2, 3, 9, 9)}, {"data": (0, 3, 0, 0)}),
    "image of one size": (images("window"), {"data": (2, 1, 28, 28)}, {"data": (0, 1, 28, 28)}),
    "image of an odd size": (images("window"), {"data": (1, 2, 37, 37)}, {"data": (0, 2, 36, 36)}),
    "volume": (
        mx.sym.Convolution(mx.sym.Variable("x"), kernel=(1, 2, 3), num_filter=2, name="c"),
        {"x": (1, 5, 4, 4, 4)},
        {"x": (0, 5, 0, 0, 0)},
    ),
    "groups": (
        mx.sym.Convolution(
            mx.sym.Variable("x"), kernel=(3, 3), num_filter=6, num_group=3, name="c"
        ),
        {"x": (1, 6, 5, 5)},
        {"x": (0, 6, 0, 0)},
    ),
    "vectors": (
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"),
        {"data": (4, 11)},
        {"data": (0, 11)},
    ),
    "flattened vectors": (
        mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.Variable("data")), num_hidden=2, name="fc"),
        {"data": (4, 11)},
        {"data": (0, 11)},
    ),
    "states": (sequences(), {"data": (2, 7), "state": (2, 8)}, {"data": (0, 0), "state": (0, 8)}),
}


@pytest.mark.parametrize("case", DEDUCED)
def test_inputs_follow_from_parameters(tmp_path, case):
    symbol, shapes, inputs = DEDUCED[case]
    diagnosis = diagnose(*write(tmp_path, symbol, **shapes))
    assert diagnosis.sound
    labels = {"softmax_label": (0,)} if "softmax_label" in symbol.list_arguments() else {}
    assert diagnosis.inputs == {**inputs, **labels}


def test_labels_follow_from_the_size_of_the_batch(tmp_path):
    files = write(tmp_path, images("window"), data=(1, 3, 12, 12))
    diagnosis = diagnose(*files, shapes={"data": (8, 3, 12, 12)})
    assert diagnosis.inputs == {"data": (8, 3, 12, 12), "softmax_label": (8,)}
    assert diagnosis.outputs == {"softmax_output": (8, 3)}
    assert diagnosis.summary["fc"].output_shapes == ((8, 3),)
    with pytest.raises(UnknownNameError, match="one of: data, softmax_label"):
        diagnose(*files, shapes={"date": (1,)})
    with pytest.raises(ShapeError, match="conv"):
        diagnose(files[0], shapes={"data": (1, 3)})


def test_wrong_parameters_are_all_named(tmp_path):
    symbol, params = write(tmp_path, images("global"), data=(1, 3, 9, 9))
    stored = stored_arrays(params)
    stored["arg:fc_bias"] = mx.nd.ones((4,))
    stored["aux:conv_bias"] = stored.pop("arg:conv_bias")
    stored["arg:extra"] = mx.nd.ones((1,))
    del stored["arg:fc_weight"]
    mx.nd.save(str(params), stored)
    check = diagnose(symbol, params).check
    assert not check.fits
    assert check.missing == ("fc_weight",)
    assert check.extra == ("extra",)
    assert check.misplaced == ("conv_bias",)
    assert check.misshaped == {"fc_bias": ((4,), (3,))}


def test_a_dense_layer_that_no_image_fits(tmp_path):
    symbol, params = write(tmp_path, images("window"), data=(1, 3, 12, 12))
    stored = stored_arrays(params)
    stored["arg:fc_weight"] = mx.nd.ones((3, 101))
    mx.nd.save(str(params), stored)
    diagnosis = diagnose(symbol, params)
    assert diagnosis.check.misshaped == {"fc_weight": ((3, 101), (3, 0))}
    assert diagnosis.summary is None


def test_all_elements_are_looked_at(tmp_path):
    path = str(tmp_path / "x.params")
    big = np.ones((3, 1 << 20), np.float32)
    big[2, -1] = np.nan
    arrays = {
        "arg:big": mx.nd.array(big),
        "arg:half": mx.nd.array([[1, np.inf], [-np.inf, np.nan]], dtype="float16"),
        "arg:brain": mx.nd.array([np.nan], dtype="bfloat16"),
        "arg:whole": mx.nd.array([1], dtype="int32"),
        "arg:fine": mx.nd.ones((3,), dtype="float64"),
    }
    mx.nd.save(path, arrays)
    diagnosis = diagnose(params=path)
    assert diagnosis.not_finite == {
        "arg:big": NotFinite(1, 0), "arg:half": NotFinite(1, 2), "arg:brain": NotFinite(1, 0)
    }  # fmt: skip
    assert not diagnosis.sound
    assert "not finite (3): 1 NaN in arg:big; 1 NaN, 2 infinite in arg:half" in repr(diagnosis)


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"mxnet_version": ["int", 10500]}, "written by MXNet 1.5.0"),
        ({"mxnet_version": ["int", 905]}, "written by MXNet 0.9.5"),
        (None, "written by MXNet before 0.9"),
    ],
)
def test_the_version_that_wrote_a_symbol(tmp_path, attrs, words):
    symbol, _ = write(tmp_path, images("global"), data=(1, 3, 9, 9))
    document = json.loads(symbol.read_text())
    document["attrs"] = attrs or {}
    symbol.write_text(json.dumps(document))
    assert repr(diagnose(symbol)).splitlines()[0].endswith(words)


def test_headers_are_read_without_elements(tmp_path):
    path = tmp_path / "x.params"
    arrays = {
        "arg:w": mx.nd.arange(6).reshape((2, 3)), "none": mx.nd.empty((0, 2)),
        "aux:m": mx.nd.array([1, 2], dtype="bfloat16"),
    }  # fmt: skip
    mx.nd.save(str(path), arrays)
    headers = ParamsHeaders(path)
    assert [(h.name, h.shape, h.dtype.name) for h in headers] == [
        ("arg:w", (2, 3), "float32"), ("none", (0, 2), "float32"), ("aux:m", (2,), "bfloat16")
    ]  # fmt: skip
    assert headers.nbytes == 28
    for header in headers:
        np.testing.assert_array_equal(headers.read(header), arrays[str(header.name)].asnumpy())
        blocks = [block.copy() for block in headers.blocks(header, 4)]
        assert [len(b) for b in blocks] == {6: [4, 2], 0: [], 2: [2]}[headers.read(header).size]
        if blocks:
            flat = headers.read(header).reshape(-1)
            np.testing.assert_array_equal(np.concatenate(blocks), flat)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileFormatError, match=r"x\.params"):
        ParamsHeaders(path)


def test_notebooks_and_terminals_show_the_report(tmp_path):
    diagnosis = diagnose(*write(tmp_path, images("global"), data=(1, 3, 9, 9)))
    assert "the parameters fit the symbol" in diagnosis._repr_html_()
    lines = diagnosis.text(70).splitlines()
    assert max(map(len, lines)) <= 70
    assert "data=1,3,224,224, an assumption" in " ".join(lines)


def test_inputs_of_a_symbol_alone():
    symbol = images("global")
    assert deduce_inputs(symbol, {}) == {"data": (0, 0, 0, 0), "softmax_label": (0,)}


def test_versions_and_sizes_in_words():
    versions = [_diagnosis.version_name(number) for number in (10901, 800)]
    assert versions == ["MXNet 1.9.1", "MXNet before 0.9"]
    sizes = [_diagnosis.size_text(shape) for shape in ((0, 3, 0, 0), (8, 10), None)]
    assert sizes == ["(N, 3, ?, ?)", "(8, 10)", "?"]
