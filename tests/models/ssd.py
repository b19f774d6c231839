"""SSD-300 on VGG-16 with reduced fully connected layers (Liu et al. 2016)."""

from __future__ import annotations

from typing import Any

from .vgg import STAGES, conv_relu

SIZES = ((0.1, 0.141), (0.2, 0.272), (0.37, 0.447), (0.54, 0.619), (0.71, 0.79), (0.88, 0.961))
RATIOS = ((1, 2, 0.5), *((1, 2, 0.5, 3, 1.0 / 3),) * 3, (1, 2, 0.5), (1, 2, 0.5))


def _features(mx: Any, width: float) -> list[Any]:
    """Six feature maps: 38x38, 19x19, 10x10, 5x5, 3x3 and 1x1 for images of 300x300."""
    x, maps = mx.sym.Variable("data"), []
    for stage, (count, filters) in enumerate(STAGES, start=1):
        for i in range(1, count + 1):
            x = conv_relu(mx, x, int(filters * width), f"{stage}_{i}")
        if stage == 4:
            scale = mx.sym.Variable("relu4_3_scale", shape=(1, int(filters * width), 1, 1))
            normed = mx.sym.L2Normalization(x, mode="channel", name="relu4_3_norm")
            maps.append(mx.sym.broadcast_mul(normed, scale))
        last = {"kernel": (3, 3), "stride": (1, 1), "pad": (1, 1)}
        halve = {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"}
        options = last if stage == 5 else halve
        x = mx.sym.Pooling(x, pool_type="max", name=f"pool{stage}", **options)
    x = conv_relu(mx, x, int(1024 * width), "6", pad=(6, 6), dilate=(6, 6))
    x = conv_relu(mx, x, int(1024 * width), "7", kernel=(1, 1), pad=(0, 0))
    maps.append(x)
    for i, (filters, options) in enumerate(
        [
            (512, {"stride": (2, 2)}),
            (256, {"stride": (2, 2)}),
            (256, {"pad": (0, 0)}),
            (256, {"pad": (0, 0)}),
        ],
        start=8,
    ):
        narrow = int(filters * width) // 2
        x = conv_relu(mx, x, narrow, f"{i}_1", kernel=(1, 1), pad=(0, 0))
        x = conv_relu(mx, x, int(filters * width), f"{i}_2", **options)
        maps.append(x)
    return maps


def _heads(mx: Any, width: float, classes: int) -> tuple[Any, Any, Any]:
    """Class scores (N, classes + 1, A), box offsets (N, 4 A) and anchors (1, A, 4)."""
    scores, boxes, anchors = [], [], []
    for i, x in enumerate(_features(mx, width)):
        count = len(SIZES[i]) + len(RATIOS[i]) - 1
        for parts, filters, name in (
            (scores, count * (classes + 1), f"cls{i}"),
            (boxes, count * 4, f"loc{i}"),
        ):
            y = mx.sym.Convolution(x, num_filter=filters, kernel=(3, 3), pad=(1, 1), name=name)
            parts.append(mx.sym.Flatten(mx.sym.transpose(y, axes=(0, 2, 3, 1))))
        prior = mx.sym.contrib.MultiBoxPrior(
            x, sizes=SIZES[i], ratios=RATIOS[i], clip=False, name=f"anchors{i}"
        )
        anchors.append(mx.sym.Flatten(prior))
    score = mx.sym.Reshape(mx.sym.Concat(*scores, dim=1), shape=(0, -1, classes + 1))
    anchor = mx.sym.Reshape(mx.sym.Concat(*anchors, dim=1), shape=(0, -1, 4))
    return (
        mx.sym.transpose(score, axes=(0, 2, 1), name="scores"),
        mx.sym.Concat(*boxes, dim=1, name="boxes"),
        anchor,
    )


def ssd_train(mx: Any, classes: int = 3, width: float = 1.0) -> Any:
    """Class probabilities, box loss and class targets; label (N, objects, 5)."""
    scores, boxes, anchors = _heads(mx, width, classes)
    target = mx.sym.contrib.MultiBoxTarget(
        anchors,
        mx.sym.Variable("label"),
        scores,
        overlap_threshold=0.5,
        ignore_label=-1,
        negative_mining_ratio=3,
        minimum_negative_samples=0,
        negative_mining_thresh=0.5,
        variances=(0.1, 0.1, 0.2, 0.2),
        name="target",
    )
    probabilities = mx.sym.SoftmaxOutput(
        scores,
        target[2],
        ignore_label=-1,
        use_ignore=True,
        multi_output=True,
        normalization="valid",
        name="cls_prob",
    )
    error = mx.sym.smooth_l1(target[1] * (boxes - target[0]), scalar=1.0, name="loc_error")
    loss = mx.sym.MakeLoss(error, normalization="valid", name="loc_loss")
    return mx.sym.Group([probabilities, loss, mx.sym.BlockGrad(target[2], name="cls_target")])


def ssd_detect(mx: Any, classes: int = 3, width: float = 1.0) -> Any:
    """The 200 best detections (N, 200, 6): class, score and box after suppression."""
    scores, boxes, anchors = _heads(mx, width, classes)
    detections = mx.sym.contrib.MultiBoxDetection(
        mx.sym.softmax(scores, axis=1, name="cls_prob"),
        boxes,
        anchors,
        nms_threshold=0.45,
        force_suppress=False,
        nms_topk=400,
        variances=(0.1, 0.1, 0.2, 0.2),
        name="detection",
    )
    return mx.sym.slice_axis(detections, axis=1, begin=0, end=200)
