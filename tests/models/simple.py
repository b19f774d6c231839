"""Two small classifiers: a perceptron and LeNet."""

from __future__ import annotations

from typing import Any


def mlp(mx: Any, classes: int = 10) -> Any:
    """Three fully connected layers and a softmax."""
    x = mx.sym.Flatten(mx.sym.Variable("data"))
    for i, hidden in enumerate((128, 64), start=1):
        x = mx.sym.FullyConnected(x, num_hidden=hidden, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.FullyConnected(x, num_hidden=classes, name="fc3")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def lenet(mx: Any, classes: int = 10) -> Any:
    """Two convolutions with tanh and max pooling, two fully connected layers."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50), start=1):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"tanh{i}")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=500, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="tanh3")
    x = mx.sym.FullyConnected(x, num_hidden=classes, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")
