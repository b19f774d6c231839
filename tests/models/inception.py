"""Inception-v3 (Szegedy et al. 2015, "Rethinking the Inception architecture")."""

from __future__ import annotations

from typing import Any

Size = tuple[int, int]


class _Net:
    """Building blocks that share ``mx`` and number their layers within a block."""

    def __init__(self, mx: Any, width: float) -> None:
        self.mx, self.width = mx, width

    def conv(
        self,
        x: Any,
        filters: int,
        kernel: Size,
        name: str,
        stride: Size = (1, 1),
        same: bool = True,
    ) -> Any:
        pad = (kernel[0] // 2, kernel[1] // 2) if same else (0, 0)
        sym = self.mx.sym
        x = sym.Convolution(
            x,
            num_filter=int(filters * self.width),
            kernel=kernel,
            stride=stride,
            pad=pad,
            no_bias=True,
            name=f"{name}_conv",
        )
        x = sym.BatchNorm(x, fix_gamma=True, eps=1e-3, name=f"{name}_bn")
        return sym.Activation(x, act_type="relu", name=f"{name}_relu")

    def chain(self, x: Any, name: str, *layers: tuple[int, Size]) -> Any:
        for i, (filters, kernel) in enumerate(layers):
            x = self.conv(x, filters, kernel, f"{name}_{i}")
        return x

    def pool(self, x: Any, kind: str, name: str, shrink: bool = False) -> Any:
        step, pad = ((2, 2), (0, 0)) if shrink else ((1, 1), (1, 1))
        return self.mx.sym.Pooling(
            x, kernel=(3, 3), stride=step, pad=pad, pool_type=kind, name=f"{name}_pool"
        )

    def concat(self, name: str, *parts: Any) -> Any:
        return self.mx.sym.Concat(*parts, name=name)

    def mixed_5x5(self, x: Any, pooled: int, name: str) -> Any:
        return self.concat(
            name,
            self.conv(x, 64, (1, 1), f"{name}_one"),
            self.chain(x, f"{name}_five", (48, (1, 1)), (64, (5, 5))),
            self.chain(x, f"{name}_three", (64, (1, 1)), (96, (3, 3)), (96, (3, 3))),
            self.conv(self.pool(x, "avg", name), pooled, (1, 1), f"{name}_proj"),
        )

    def mixed_7x7(self, x: Any, inner: int, name: str) -> Any:
        wide, tall = (1, 7), (7, 1)
        return self.concat(
            name,
            self.conv(x, 192, (1, 1), f"{name}_one"),
            self.chain(x, f"{name}_seven", (inner, (1, 1)), (inner, wide), (192, tall)),
            self.chain(
                x,
                f"{name}_double",
                (inner, (1, 1)),
                (inner, tall),
                (inner, wide),
                (inner, tall),
                (192, wide),
            ),
            self.conv(self.pool(x, "avg", name), 192, (1, 1), f"{name}_proj"),
        )

    def mixed_split(self, x: Any, kind: str, name: str) -> Any:
        three = self.conv(x, 384, (1, 1), f"{name}_three")
        double = self.chain(x, f"{name}_double", (448, (1, 1)), (384, (3, 3)))
        return self.concat(
            name,
            self.conv(x, 320, (1, 1), f"{name}_one"),
            self.conv(three, 384, (1, 3), f"{name}_three_wide"),
            self.conv(three, 384, (3, 1), f"{name}_three_tall"),
            self.conv(double, 384, (1, 3), f"{name}_double_wide"),
            self.conv(double, 384, (3, 1), f"{name}_double_tall"),
            self.conv(self.pool(x, kind, name), 192, (1, 1), f"{name}_proj"),
        )

    def shrink(self, x: Any, filters: int, name: str) -> Any:
        return self.conv(x, filters, (3, 3), name, stride=(2, 2), same=False)


def inception_v3(mx: Any, classes: int = 10, width: float = 1.0) -> Any:
    """Inception-v3 for images of at least 75x75; ``width`` scales the number of filters."""
    net = _Net(mx, width)
    x = net.shrink(mx.sym.Variable("data"), 32, "stem1")
    x = net.conv(x, 32, (3, 3), "stem2", same=False)
    x = net.pool(net.conv(x, 64, (3, 3), "stem3"), "max", "stem3", shrink=True)
    x = net.conv(net.conv(x, 80, (1, 1), "stem4"), 192, (3, 3), "stem5", same=False)
    x = net.pool(x, "max", "stem5", shrink=True)
    for i, pooled in enumerate((32, 64, 64)):
        x = net.mixed_5x5(x, pooled, f"mixed{i}")
    double = net.chain(x, "mixed3_double", (64, (1, 1)), (96, (3, 3)))
    x = net.concat(
        "mixed3",
        net.shrink(x, 384, "mixed3_three"),
        net.shrink(double, 96, "mixed3_double_last"),
        net.pool(x, "max", "mixed3", shrink=True),
    )
    for i, inner in enumerate((128, 160, 160, 192), start=4):
        x = net.mixed_7x7(x, inner, f"mixed{i}")
    three = net.conv(x, 192, (1, 1), "mixed8_three")
    seven = net.chain(x, "mixed8_seven", (192, (1, 1)), (192, (1, 7)), (192, (7, 1)))
    x = net.concat(
        "mixed8",
        net.shrink(three, 320, "mixed8_three_last"),
        net.shrink(seven, 192, "mixed8_seven_last"),
        net.pool(x, "max", "mixed8", shrink=True),
    )
    x = net.mixed_split(x, "avg", "mixed9")
    x = net.mixed_split(x, "max", "mixed10")
    x = mx.sym.Pooling(x, global_pool=True, kernel=(8, 8), pool_type="avg", name="global_pool")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=classes, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")
