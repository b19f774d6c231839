"""Summaries of networks: sums against published numbers, and summaries with unknown shapes."""

from __future__ import annotations

import pytest

import executorkit as mx
from tests.display._html import checked
from tests.models import resnet, vgg


def dense():
    x = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    return mx.sym.FullyConnected(mx.sym.relu(x, name="relu"), num_hidden=4, name="fc")


def test_resnet50():
    net = resnet.resnet50(mx, classes=1000)
    summary = net.summary(data=(1, 3, 224, 224))
    # 4.1 GMACs (He et al. 2016 count them as FLOPs); parameters as in MXNet's model zoo.
    assert summary.macs == pytest.approx(4.1e9, rel=0.01)
    assert summary.flops == pytest.approx(2 * 4.1e9, rel=0.02)
    assert summary.parameters + summary.auxiliary == 25_595_060
    assert summary.parameter_bytes == 4 * 25_595_060
    assert summary["conv0"].macs == 112 * 112 * 64 * 3 * 49
    assert summary.unknown == []
    assert net.summary(data=(8, 3, 224, 224)).macs == 8 * summary.macs
    html = summary._repr_html_()
    assert len(html) < 60_000
    words = checked(html)
    assert "stage1_unit1_conv2" in words
    assert "stage3_unit2 … stage3_unit6: 5 x 10 layers" in words
    assert len(summary.table(folded=True).splitlines()) < 60


def test_vgg16():
    summary = vgg.vgg16(mx, classes=1000).summary(data=(1, 3, 224, 224))
    assert summary.macs == pytest.approx(15.47e9, rel=1e-3)
    assert summary.parameters == 138_357_544
    outputs = {64: 224, 128: 112, 256: 56, 512: 28}
    stages = [(channels, size, 2 if size > 56 else 3) for channels, size in outputs.items()]
    maps = sum(c * size**2 * 2 * n + c * size**2 // 4 for c, size, n in [*stages, (512, 14, 3)])
    assert summary.output_bytes == 4 * (maps + 512 * 49 + 4 * 4096 + 2 * 1000)


def test_text():
    x = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    states = mx.sym.relu(x, name="relu").summary(data=(2, 4))
    assert repr(states).splitlines()[-2] == (
        "parameters (learned): 8, auxiliary states (not learned): 8, together 16, 64 B"
    )
    assert "parameters and states" in repr(states).splitlines()[2]
    x = mx.sym.split(mx.sym.Variable("data"), num_outputs=2, name="halves")
    x = mx.sym.FullyConnected(x[0], num_hidden=1000, name="fc")
    assert (
        repr(x.summary(data=(32, 2000)))
        == """\
Symbol fc: 2 operators
inputs: data (32, 2000)
layer   operator        output shape            parameters  FLOPs   output
------  --------------  ----------------------  ----------  -----  -------
halves  SliceChannel    (32, 1000), (32, 1000)           0      0  250 KiB
fc      FullyConnected  (32, 1000)               1,001,000   64 M  125 KiB
------  --------------  ----------------------  ----------  -----  -------
sum                                              1,001,000   64 M  375 KiB
parameters (learned): 1,001,000, 3.82 MiB
one forward pass: 64 MFLOPs, with 32 MMACs in convolutions and matrix products"""
    )


def test_partly_known_shapes():
    summary = dense().summary(data=(0, 3))
    assert summary["fc"].output_shapes == ((0, 4),)
    assert (summary.parameters, summary.auxiliary, summary.flops) == (6 + 16, 6, 0)
    assert "inputs: data (?, 3)" in repr(summary)
    assert summary.unknown == ["data"]
    nothing = dense().summary()
    assert nothing.unknown[:2] == ["data", "bn_gamma"]
    words = (
        "parameters (learned): 4 + ?, auxiliary states (not learned): ?, together 4 + ?, 16 B + ?"
    )
    assert words in repr(nothing)


def test_every_network_without_any_shape_is_shown():
    assert "unknown shapes: " in repr(resnet.resnet50(mx).summary())
    assert "sum" in checked(resnet.resnet50(mx).summary()._repr_html_())


def test_types_count_in_bytes():
    summary = dense().summary({"data": "float16"}, data=(2, 3))
    assert summary.output_bytes == 2 * 2 * (3 + 3 + 4)
    assert summary["fc"].output_dtypes == ("float16",)


def test_parameters_are_recognised():
    data = mx.sym.Variable("data")
    position = mx.sym.Variable("position", shape=(1, 3), init=mx.init.Zero())
    x = mx.sym.broadcast_add(data, position)
    x = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), name="out")
    summary = x.summary(data=(4, 3))
    assert summary.inputs == {"data": (4, 3), "out_label": (4, 2)}
    assert summary.parameters == 3 + 8


def test_uncounted_work_is_said():
    data = mx.sym.Variable("data")
    x = mx.sym.relu(mx.sym.linalg.syevd(data, name="eigen")[1], name="r")
    summary = x.summary(data=(4, 4))
    assert repr(summary).splitlines()[-1] == "FLOPs of eigen: no rule for eigh"
    assert "4 FLOPs + ?" in repr(summary)


def test_errors():
    with pytest.raises(mx.MXNetError, match="unknown argument 'image'"):
        dense().summary(image=(2, 3))
    with pytest.raises(mx.MXNetError, match="node 'fc'"):
        dense().summary(data=(2, 3), fc_weight=(4, 9))


def test_a_variable_alone_has_no_layers():
    summary = mx.sym.Variable("data").summary(data=(2, 3))
    assert len(summary) == 0
    assert summary.flops == 0
    assert "0 operators" in repr(summary)
    checked(summary._repr_html_())
