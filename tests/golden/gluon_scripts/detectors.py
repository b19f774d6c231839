"""A detector with a loss of its own, and an estimator of pictures, as users write them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._facts import fill, folder, script
from .estimators import Lines


def _pictures(count: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Squares on noise: (count, 3, 16, 16), and rows of class, left, top, right, bottom."""
    rng = np.random.RandomState(seed)
    pictures = (rng.rand(count, 3, 16, 16) * 0.2).astype("float32")
    labels = []
    for picture in pictures:
        rows = []
        for kind in range(1 + rng.randint(2)):
            x, y = rng.randint(0, 9, 2)
            picture[kind, y : y + 6, x : x + 6] = 1
            rows.append([kind, x / 16, y / 16, (x + 6) / 16, (y + 6) / 16])
        labels.append(np.array(rows, "float32"))
    return pictures, labels


@script
def a_detector_of_boxes(mx):
    """Anchors, targets and a loss of two parts; labels of several lengths are padded."""
    gluon, nn, nd = mx.gluon, mx.gluon.nn, mx.nd

    class Detector(gluon.HybridBlock):
        def __init__(self, classes: int, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.classes = classes
            with self.name_scope():
                self.features = nn.HybridSequential()
                for channels in (4, 6):
                    self.features.add(
                        nn.Conv2D(channels, 3, padding=1, use_bias=False),
                        nn.BatchNorm(),
                        nn.Activation("relu"),
                        nn.MaxPool2D(2),
                    )
                self.kinds = nn.Conv2D(3 * (classes + 1), 3, padding=1)
                self.boxes = nn.Conv2D(3 * 4, 3, padding=1)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            x = self.features(x)
            anchors = F.contrib.MultiBoxPrior(x, sizes=(0.4, 0.3), ratios=(1, 2))
            kinds = F.transpose(self.kinds(x), (0, 2, 3, 1))
            kinds = F.reshape(kinds, (0, -1, self.classes + 1))
            boxes = F.flatten(F.transpose(self.boxes(x), (0, 2, 3, 1)))
            return anchors, kinds, boxes

    class DetectionLoss(gluon.loss.Loss):
        def __init__(self, weight: float = 1.0, **kwargs: Any) -> None:
            super().__init__(weight, 0, **kwargs)

        def hybrid_forward(
            self, F: Any, kinds: Any, boxes: Any, kind: Any, offset: Any, mask: Any
        ) -> Any:
            chances = F.log_softmax(kinds, axis=-1)
            chosen = F.pick(chances, F.maximum(kind, 0), axis=-1)
            first = F.sum(-chosen * (kind >= 0), axis=1) / F.maximum(F.sum(kind > 0, axis=1), 1)
            distance = F.smooth_l1((boxes - offset) * mask, scalar=1.0)
            return first + self._weight * F.mean(distance, axis=0, exclude=True)

    def padded(samples: Any) -> Any:
        pictures, labels = zip(*samples, strict=True)
        rows = np.full((len(labels), max(map(len, labels)), 5), -1, "float32")
        for row, label in zip(rows, labels, strict=True):
            row[: len(label)] = label
        return nd.array(np.stack(pictures)), nd.array(rows)

    pictures, labels = _pictures(6, 1)
    loader = gluon.data.DataLoader(
        gluon.data.SimpleDataset(list(zip(pictures, labels, strict=True))),
        batch_size=2,
        batchify_fn=padded,
    )
    net = Detector(2, prefix="detector_")
    net.initialize()
    net(nd.array(pictures[:2]))
    fill(net)
    net.hybridize()
    loss = DetectionLoss(2.0)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02, "momentum": 0.5})
    metric = mx.metric.Loss()
    seen: list[Any] = []
    for _ in range(2):
        metric.reset()
        for x, y in loader:
            with mx.autograd.record():
                anchors, kinds, boxes = net(x)
                with mx.autograd.pause():
                    offset, mask, kind = nd.contrib.MultiBoxTarget(
                        anchors, y, nd.transpose(kinds, (0, 2, 1)),
                        overlap_threshold=0.4, negative_mining_ratio=3,
                        negative_mining_thresh=0.5,
                    )  # fmt: skip
                value = loss(kinds, boxes, kind, offset, mask)
            value.backward()
            trainer.step(len(x))
            metric.update(0, [value])
        seen.append([list(y.shape), metric.get()])
    anchors, kinds, boxes = net(nd.array(pictures[:1]))
    chances = nd.transpose(nd.softmax(kinds, axis=-1), (0, 2, 1))
    found = nd.contrib.MultiBoxDetection(chances, boxes, anchors, threshold=0.3, nms_topk=4)
    kept = found[0].asnumpy()
    kept = kept[kept[:, 0] >= 0]
    return [seen, len(kept), kept[:2], net.kinds.bias.data(), net.features[1].running_mean.data()]


@script
def an_estimator_that_stops_early(mx):
    """Pictures with a transform, validation, the best model, and a resumption from files."""
    gluon, events = mx.gluon, mx.gluon.contrib.estimator
    pictures, labels = _pictures(20, 2)
    kinds = np.array([len(rows) - 1 for rows in labels], "int32")

    def loader(begin: int, end: int) -> Any:
        dataset = gluon.data.ArrayDataset(pictures[begin:end], kinds[begin:end])
        scaled = dataset.transform_first(lambda x: x * 2 - 1)
        return gluon.data.DataLoader(scaled, batch_size=5, last_batch="keep")

    def train(epochs: int, **options: Any) -> list[Any]:
        net = gluon.nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(
                gluon.nn.Conv2D(3, 3, strides=2, activation="relu", in_channels=3),
                gluon.nn.GlobalAvgPool2D(),
                gluon.nn.Dense(2, in_units=3),
            )
        net.initialize()
        fill(net)
        net.hybridize()
        rates = {"learning_rate": 0.1}
        trainer = gluon.Trainer(net.collect_params(), "sgd", rates)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        estimator = events.Estimator(net, loss, mx.metric.Accuracy(), trainer=trainer)
        lines = Lines()
        estimator.logger.handlers = [lines]
        metric = estimator.val_metrics[0]
        saving = events.CheckpointHandler(
            "saved", "net", metric, mode="max", save_best=True, max_checkpoints=2, **options
        )
        stopping = events.EarlyStoppingHandler(metric, mode="max", patience=3)
        estimator.fit(loader(0, 14), loader(14, 20), epochs, [saving, stopping])
        return [
            sorted(os.listdir("saved")),
            [line for line in lines.lines if "Begin, current" in line],
            [stopping.stopped_epoch, stopping.wait],
            metric.get(),
            net[0].bias.data(),
            net[2].weight.data(),
        ]

    with folder():
        return [train(8), train(12, resume_from_checkpoint=True)]
