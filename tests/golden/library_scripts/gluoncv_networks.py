"""Steps of detectors and of a network for segmentation, as GluonCV's training scripts take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import facts, fill, normal, script, step

CLASSES = ["a", "b", "c"]
BOXES = np.array([[[8, 12, 40, 50], [20, 4, 60, 30]]], "float32")
IDS = np.array([[[0], [2]]], "float32")
FOUR = (4, 1, 1)


def _filled(mx: Any, net: Any, *inputs: Any) -> Any:
    net.initialize()
    net(*inputs)
    return fill(mx, net)


@script("gluoncv")
def yolo3_step(mx):
    from gluoncv.model_zoo import get_model
    from gluoncv.model_zoo.yolo.yolo_target import YOLOV3PrefetchTargetGenerator

    x = mx.nd.array(normal("data", (4, 3, 128, 128)))
    net = get_model("yolo3_mobilenet0.25_custom", classes=CLASSES, pretrained_base=False)
    _filled(mx, net, x)
    boxes, ids = mx.nd.array(np.tile(2 * BOXES, FOUR)), mx.nd.array(np.tile(IDS, FOUR))
    with mx.autograd.train_mode():
        _, anchors, offsets, feat_maps, *_ = net(x)
    generate = YOLOV3PrefetchTargetGenerator(len(CLASSES))
    targets = generate(x, feat_maps, anchors, offsets, boxes, ids, None)
    seen = step(mx, net, lambda: net(x, boxes, *targets), exact=False)
    return {"targets": facts(list(targets)), **seen}


@script("gluoncv")
def ssd_step(mx):
    import gluoncv
    from gluoncv.model_zoo.ssd.target import SSDTargetGenerator

    x = mx.nd.array(normal("data", (2, 3, 300, 300)))
    net = gluoncv.model_zoo.get_model(
        "ssd_300_mobilenet0.25_custom", classes=CLASSES, pretrained_base=False
    )
    _filled(mx, net, x)
    with mx.autograd.train_mode():
        anchors = net(x)[2]
    generate = SSDTargetGenerator(negative_mining_ratio=-1)
    boxes, labels = (mx.nd.array(np.tile(a, (2, 1, 1))) for a in (4 * BOXES, IDS))
    ids, places, _ = generate(anchors, None, boxes, labels)
    loss = gluoncv.loss.SSDMultiBoxLoss()

    def losses() -> Any:
        scores, shifts, _ = net(x)
        return loss(scores, shifts, ids, places)[0]

    return {"targets": facts([ids, places]), **step(mx, net, losses, exact=False)}


def _rcnn(mx: Any, net: Any, with_masks: bool) -> Any:
    x = mx.nd.array(normal("data", (1, 3, 256, 256)))
    net.initialize()
    net(x)
    fill(mx, net)
    boxes, ids = mx.nd.array(4 * BOXES), mx.nd.array(IDS)
    np.random.seed(7)
    with mx.autograd.record():
        outputs = net(x, boxes, ids)
        classes, shifts, *rest = outputs
        total = classes.softmax().sum() + (shifts**2).sum()
        if with_masks:
            total = total + (rest[0] ** 2).sum()
    total.backward()
    trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
    with_gradients = sum(float(abs(p.grad()).sum().asscalar()) > 0 for p in trained)
    # Regions are sampled at random: their number is known, the gradients are not.
    return {
        "inference": [list(o.shape) for o in net(x)],
        "shapes": [list(o.shape) for o in outputs if hasattr(o, "shape")],
        "parameters with gradients": [with_gradients, len(trained)],
    }


@script("gluoncv")
def faster_rcnn_step(mx):
    from gluoncv.model_zoo import get_model

    name, arguments = "faster_rcnn_resnet50_v1b_custom", {"pretrained_base": False}
    return _rcnn(mx, get_model(name, classes=CLASSES, **arguments), with_masks=False)


@script("gluoncv")
def mask_rcnn_step(mx):
    from gluoncv.model_zoo import get_model

    net = get_model("mask_rcnn_resnet18_v1b_coco", pretrained_base=False)
    return _rcnn(mx, net, with_masks=True)


@script("gluoncv")
def fcn_step(mx):
    import gluoncv

    net = gluoncv.model_zoo.FCN(
        3, backbone="resnet50", pretrained_base=False, crop_size=64, base_size=64
    )
    x = mx.nd.array(normal("data", (4, 3, 64, 64)))
    labels = mx.nd.array(np.arange(4 * 64 * 64).reshape(4, 64, 64) // 7 % 3)
    _filled(mx, net, x)
    net.apply(lambda block: setattr(block, "_rate", 0))  # of dropout
    net.cast("float64")
    x = x.astype("float64")
    loss = gluoncv.loss.MixSoftmaxCrossEntropyLoss(aux=True)
    return step(mx, net, lambda: loss(*net(x), labels))


@script("gluoncv")
def metrics_and_transforms(mx):
    from gluoncv.data.transforms import bbox, image
    from gluoncv.utils import bbox_iou
    from gluoncv.utils.metrics import SegmentationMetric, VOC07MApMetric

    found, truth = 2 * BOXES + 3, 2 * BOXES
    precision = VOC07MApMetric(iou_thresh=0.5, class_names=CLASSES)
    scores = np.array([[[0.9], [0.4]]], "float32")
    arrays = [mx.nd.array(a) for a in (found, IDS, scores, truth, IDS)]
    precision.update(*arrays)
    pixels = SegmentationMetric(3)
    pixels.update([mx.nd.array(np.arange(32) % 3).reshape(2, 16)], [
        mx.nd.array(normal("pixels", (2, 3, 16)))
    ])  # fmt: skip
    picture = mx.nd.array(np.abs(normal("picture", (12, 16, 3))) * 60)
    return {
        "iou": facts([bbox_iou(found[0], truth[0])]),
        "precision": [str(v) for v in precision.get()[1]],
        "pixels": [float(v) for v in pixels.get()],
        "resized": facts([image.imresize(picture.astype("uint8"), 8, 6, 1)]),
        "boxes": facts([bbox.flip(BOXES[0], (64, 64), flip_x=True)]),
    }
