"""Larger networks for images as a JAX user writes them; see ``_handwritten``."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

Arrays = dict[str, jax.Array]
Pads = Sequence[tuple[int, int]]


class _Layers:
    """Layers by name; ``new`` holds the updated batch statistics."""

    def __init__(self, p: Arrays, states: Arrays, train: bool, eps: float, gamma: bool) -> None:
        self.p, self.states, self.train = p, states, train
        self.eps, self.gamma = eps, gamma
        self.new: Arrays = {}

    def conv(
        self, x: jax.Array, name: str, stride: int = 1, pad: Pads | str = "SAME", groups: int = 1,
        dilate: int = 1,
    ) -> jax.Array:  # fmt: skip
        w = self.p[f"{name}_weight"]
        if pad == "SAME":
            pad = [(k // 2, k // 2) for k in w.shape[2:]]
        y = lax.conv_general_dilated(
            x, w, (stride, stride), pad, rhs_dilation=(dilate, dilate), feature_group_count=groups
        )
        bias = self.p.get(f"{name}_bias")
        return y if bias is None else y + bias[:, None, None]

    def norm_relu(self, x: jax.Array, name: str) -> jax.Array:
        mean, var = self.states[f"{name}_moving_mean"], self.states[f"{name}_moving_var"]
        if self.train:
            old_mean, old_var = mean, var
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.new[f"{name}_moving_mean"] = 0.9 * old_mean + 0.1 * mean
            self.new[f"{name}_moving_var"] = 0.9 * old_var + 0.1 * var
        scale = lax.rsqrt(var + self.eps)
        if self.gamma:
            scale = scale * self.p[f"{name}_gamma"]
        shift = self.p[f"{name}_beta"] - mean * scale
        return jax.nn.relu(x * scale[:, None, None] + shift[:, None, None])

    def dense(self, x: jax.Array, name: str) -> jax.Array:
        return x @ self.p[f"{name}_weight"].T + self.p[f"{name}_bias"]


def pool(
    x: jax.Array, kind: str, size: int, stride: int, pads: Pads = ((0, 0), (0, 0))
) -> jax.Array:
    window = ((1, 1, size, size), (1, 1, stride, stride), ((0, 0), (0, 0), *pads))
    if kind == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, *window)
    return lax.reduce_window(x, 0.0, lax.add, *window) / size**2


def vgg16(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    net = _Layers(p, states, train, 0, True)
    x = inputs["data"]
    for stage, count in enumerate((2, 2, 3, 3, 3), start=1):
        for i in range(1, count + 1):
            x = jax.nn.relu(net.conv(x, f"conv{stage}_{i}"))
        x = pool(x, "max", 2, 2)
    x = x.reshape(len(x), -1)
    for name in ("fc6", "fc7"):
        x = jax.nn.relu(net.dense(x, name))
    return net.dense(x, "fc8"), states


def mobilenet(p: Arrays, states: Arrays, inputs: Arrays, train: bool) -> tuple[jax.Array, Arrays]:
    net = _Layers(p, states, train, 1e-5, True)

    def layer(x: jax.Array, name: str, stride: int = 1, groups: int = 1) -> jax.Array:
        return net.norm_relu(net.conv(x, name, stride, groups=groups), f"{name}_bn")

    x = layer(inputs["data"], "conv1", 2)
    for i, stride in enumerate((1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1), start=2):
        x = layer(x, f"conv{i}_dw", stride, x.shape[1])
        x = layer(x, f"conv{i}_pw")
    return net.conv(x.mean((2, 3), keepdims=True), "fc")[:, :, 0, 0], net.new or states


def inception_v3(
    p: Arrays, states: Arrays, inputs: Arrays, train: bool
) -> tuple[jax.Array, Arrays]:
    net = _Layers(p, states, train, 1e-3, False)
    valid, one = ((0, 0), (0, 0)), ((1, 1), (1, 1))

    def conv(x: jax.Array, name: str, stride: int = 1, pad: Pads | str = "SAME") -> jax.Array:
        return net.norm_relu(net.conv(x, f"{name}_conv", stride, pad), f"{name}_bn")

    def chain(x: jax.Array, name: str, count: int) -> jax.Array:
        for i in range(count):
            x = conv(x, f"{name}_{i}")
        return x

    def shrink(x: jax.Array, name: str) -> jax.Array:
        return conv(x, name, 2, valid)

    def join(*parts: jax.Array) -> jax.Array:
        return jnp.concatenate(parts, 1)

    x = conv(shrink(inputs["data"], "stem1"), "stem2", pad=valid)
    x = pool(conv(x, "stem3"), "max", 3, 2)
    x = pool(conv(conv(x, "stem4"), "stem5", pad=valid), "max", 3, 2)
    for i in range(3):
        n = f"mixed{i}"
        proj = conv(pool(x, "avg", 3, 1, one), f"{n}_proj")
        x = join(conv(x, f"{n}_one"), chain(x, f"{n}_five", 2), chain(x, f"{n}_three", 3), proj)
    double = shrink(chain(x, "mixed3_double", 2), "mixed3_double_last")
    x = join(shrink(x, "mixed3_three"), double, pool(x, "max", 3, 2))
    for i in range(4, 8):
        n = f"mixed{i}"
        proj = conv(pool(x, "avg", 3, 1, one), f"{n}_proj")
        x = join(conv(x, f"{n}_one"), chain(x, f"{n}_seven", 3), chain(x, f"{n}_double", 5), proj)
    three = shrink(conv(x, "mixed8_three"), "mixed8_three_last")
    seven = shrink(chain(x, "mixed8_seven", 3), "mixed8_seven_last")
    x = join(three, seven, pool(x, "max", 3, 2))
    for n, kind in (("mixed9", "avg"), ("mixed10", "max")):
        three, double = conv(x, f"{n}_three"), chain(x, f"{n}_double", 2)
        sides = [
            conv(y, f"{n}_{part}_{way}")
            for y, part in ((three, "three"), (double, "double"))
            for way in ("wide", "tall")
        ]
        proj = conv(pool(x, kind, 3, 1, one), f"{n}_proj")
        x = join(conv(x, f"{n}_one"), *sides, proj)
    return net.dense(x.mean((2, 3)), "fc"), net.new or states


# SSD-300, its anchors, targets and suppression by the operators' own functions

_SIZES = ((0.1, 0.141), (0.2, 0.272), (0.37, 0.447), (0.54, 0.619), (0.71, 0.79), (0.88, 0.961))
_THIRD = 1.0 / 3
_RATIOS = ((1, 2, 0.5), *((1, 2, 0.5, 3, _THIRD),) * 3, (1, 2, 0.5), (1, 2, 0.5))


def ssd_heads(p: Arrays, x: jax.Array, classes: int = 3) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Class scores (N, classes + 1, A), box offsets (N, 4 A) and anchors (1, A, 4)."""
    from executorkit.ops.vision.multibox import multibox_prior

    net = _Layers(p, {}, True, 0, True)
    maps = []
    for stage, count in enumerate((2, 2, 3, 3, 3), start=1):
        for i in range(1, count + 1):
            x = jax.nn.relu(net.conv(x, f"conv{stage}_{i}"))
        if stage == 4:
            length = jnp.sqrt((x * x).sum(1, keepdims=True) + 1e-10)
            maps.append(x / length * p["relu4_3_scale"])
        if stage == 5:
            x = pool(x, "max", 3, 1, ((1, 1), (1, 1)))
        else:
            x = pool(x, "max", 2, 2, [(0, s % 2) for s in x.shape[2:]])
    x = jax.nn.relu(net.conv(x, "conv6", pad=((6, 6), (6, 6)), dilate=6))
    x = jax.nn.relu(net.conv(x, "conv7"))
    maps.append(x)
    for i in range(8, 12):
        x = jax.nn.relu(net.conv(x, f"conv{i}_1"))
        small = i > 9
        x = net.conv(x, f"conv{i}_2", 1 if small else 2, ((0, 0), (0, 0)) if small else "SAME")
        x = jax.nn.relu(x)
        maps.append(x)
    parts: dict[str, list[jax.Array]] = {"cls": [], "loc": [], "anchors": []}
    for i, y in enumerate(maps):
        for kind in ("cls", "loc"):
            head = net.conv(y, f"{kind}{i}").transpose(0, 2, 3, 1)
            parts[kind].append(head.reshape(len(y), -1))
        prior = multibox_prior(y, sizes=_SIZES[i], ratios=_RATIOS[i])
        parts["anchors"].append(prior.reshape(1, -1))
    scores, boxes, anchors = (jnp.concatenate(x, 1) for x in parts.values())
    scores = scores.reshape(len(scores), -1, classes + 1).transpose(0, 2, 1)
    return scores, boxes, anchors.reshape(1, -1, 4)


def ssd_detect(p: Arrays, states: Arrays, inputs: Arrays) -> jax.Array:
    """The 200 best detections."""
    from executorkit.ops.vision.multibox import multibox_detection

    scores, boxes, anchors = ssd_heads(p, inputs["data"])
    detections = multibox_detection(
        jax.nn.softmax(scores, axis=1), boxes, anchors, nms_threshold=0.45, nms_topk=400
    )
    return detections[:, :200]


def ssd_step(p: Arrays, states: Arrays, inputs: Arrays) -> tuple[jax.Array, Arrays, Arrays]:
    """Class probabilities and the gradients of the two losses."""
    from executorkit.ops.vision.multibox import multibox_target

    def loss(p: Arrays) -> tuple[jax.Array, jax.Array]:
        scores, boxes, anchors = ssd_heads(p, inputs["data"])
        offsets, mask, classes = lax.stop_gradient(
            multibox_target(
                anchors, inputs["label"], lax.stop_gradient(scores), negative_mining_ratio=3.0,
                negative_mining_thresh=0.5,
            )
        )  # fmt: skip
        has_label = classes != -1
        labels = jnp.where(has_label, classes, 0).astype(jnp.int32)
        log_probabilities = jax.nn.log_softmax(scores, axis=1)
        log_likelihoods = jnp.take_along_axis(log_probabilities, labels[:, None], 1)[:, 0]
        differences = mask * (boxes - offsets)
        distances = jnp.abs(differences)
        errors = jnp.where(distances < 1, 0.5 * differences**2, distances - 0.5)
        total = -jnp.where(has_label, log_likelihoods, 0).sum() / jnp.maximum(has_label.sum(), 1)
        valid = jnp.maximum((errors > 0).sum(), 1)
        return total + errors.sum() / valid, jax.nn.softmax(scores, axis=1)

    gradients, probabilities = jax.grad(loss, has_aux=True)(p)
    return probabilities, gradients, states
