"""Dense layers, dropout, embeddings, and functions as layers."""

from functools import partial
from typing import Any, Unpack

from ... import ndarray as nd, symbol as sym
from ..._support.annotations import Function
from ...errors import ArgumentValueError
from .._block import Block, BlockOptions
from .._hybrid_block import HybridBlock
from .._types import DType, Init, Ops, Tensor
from .activations import activation_of


class Dense(HybridBlock):
    """Dense layer, ``activation(x @ weight.T + bias)``.

    units
        The number of outputs.
    activation
        The name of an :class:`Activation`, or None.
    use_bias
        Whether to add ``bias``.
    flatten
        Whether all axes but the first become one; otherwise the last axis is transformed.
    dtype
        The dtype of the parameters.
    weight_initializer, bias_initializer
        The initializers of ``weight`` and ``bias``.
    in_units
        The number of inputs. 0: taken from the first input.

    Parameters: ``weight`` (units, in_units), ``bias`` (units,). Input: (N, ...). Output: (N,
    units), or (..., units) without ``flatten``.

    >>> import executorkit as mx
    >>> dense = mx.gluon.nn.Dense(2, weight_initializer="ones")
    >>> dense.initialize()
    >>> dense(mx.nd.array([[1, 2, 3]])).asnumpy().tolist()
    [[6.0, 6.0]]
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DType = "float32",
        weight_initializer: Init = None,
        bias_initializer: Init = "zeros",
        in_units: int = 0,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)
        self._flatten = flatten
        self._units = units
        self._in_units = in_units
        with self.name_scope():
            parameter = partial(self.params.get, dtype=dtype, allow_deferred_init=True)
            shape = (units, in_units)
            self.weight: Any = parameter("weight", shape=shape, init=weight_initializer)
            self.bias = None
            if use_bias:
                self.bias = parameter("bias", shape=(units,), init=bias_initializer)
            self.act = activation_of(activation)

    def hybrid_forward(self, F: Ops, x: Tensor, weight: Tensor, bias: Tensor = None) -> Tensor:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = F.FullyConnected(
            *inputs, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd"
        )
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        units, in_units = self.weight.shape
        act = "linear" if self.act is None else self.act
        return f"{type(self).__name__}({in_units or None} -> {units}, {act})"


class Dropout(HybridBlock):
    """Dropout: in training, elements become zero with probability ``rate``, others ``x / (1 -
    rate)``. Elements along ``axes`` are dropped or kept together."""

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, cudnn_off=False, name="fwd")
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Embedding, ``weight[x]``. Indices beyond the table are clipped.

    input_dim, output_dim
        The number of rows of the table, and the length of a row.
    dtype, weight_initializer
        The dtype and the initializer of the table.
    sparse_grad
        True lets SGD and Adam change only rows whose gradient is not zero (in MXNet: that occurred;
        see their ``lazy_update``). The gradient is a dense array, which a UserWarning says once.

    Parameters: ``weight`` (input_dim, output_dim). Input: indices of any shape. Output: (*shape,
    output_dim).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DType = "float32",
        weight_initializer: Init = None,
        sparse_grad: bool = False,
        **kwargs: Unpack[BlockOptions],
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        with self.name_scope():
            self.weight: Any = self.params.get(
                "weight",
                shape=(input_dim, output_dim),
                dtype=dtype,
                init=weight_initializer,
                allow_deferred_init=True,
                grad_stype="row_sparse" if sparse_grad else "default",
            )

    def hybrid_forward(self, F: Ops, x: Tensor, weight: Tensor) -> Tensor:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        text = "{}({input_dim} -> {output_dim}, {dtype})"
        return text.format(type(self).__name__, **self._kwargs)


class Flatten(HybridBlock):
    """Joins all axes but the first. Input: (N, ...). Output: (N, product of the others)."""

    def __init__(self, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """A function of arrays, or its name in ``mx.nd``, as a block. ArgumentValueError for others."""

    def __init__(self, function: str | Function, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            _check_name(type(self).__name__, function, nd)
            self._func_impl = getattr(nd, function)
        elif callable(function):
            self._func_impl = function
        else:
            raise _not_a_function(type(self).__name__, function)

    def forward(self, *args: Tensor) -> Tensor:
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name_of(self._func_impl)})"


class HybridLambda(HybridBlock):
    """A function of ``F`` and arrays or symbols, or the name of one in ``mx.nd`` and ``mx.sym``, as
    a block. Raises ArgumentValueError for others."""

    _is_plain = False

    def __init__(self, function: str | Function, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            _check_name(type(self).__name__, function, nd, sym)
            self._func = lambda F, *args: getattr(F, function)(*args)
            self._func_name = function
        elif callable(function):
            self._func = function
            self._func_name = _name_of(function)
        else:
            raise _not_a_function(type(self).__name__, function)

    def hybrid_forward(self, F: Ops, x: Tensor, *args: Tensor) -> Tensor:
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


def _check_name(where: str, name: str, *namespaces: Any) -> None:
    for namespace in namespaces:
        if not hasattr(namespace, name):
            raise ArgumentValueError(where, f"{namespace.__name__} has no function {name!r}")


def _not_a_function(where: str, value: object) -> ArgumentValueError:
    return ArgumentValueError(where, f"{value!r} is neither a function nor the name of one")


def _name_of(function: Function) -> str:
    return getattr(function, "__name__", None) or repr(function)
