"""Operators as functions of Python modules and as methods, for ``mx.sym`` and ``mx.nd``.

A frontend supplies ``call(op, func_name, args, kwargs)``; this file wraps it into functions with a
true signature and docstring, and into the ``__getattr__`` and ``__dir__`` of the modules that show
them. Functions are made at first lookup, so that operators registered later are there as well.
"""

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from ..._support.unserved import absent_attribute
from ...errors import NotSupportedError
from .calls import PREFIXES, Frontend, call_doc, call_signature, namespace_entries, public_names
from .operator_registry import OpDef, lookup

#: ``call(op, func_name, args, kwargs)``: runs or composes an operator.
OperatorCall = Callable[[OpDef, str, tuple[Any, ...], dict[str, Any]], Any]

#: Operators that are methods of both NDArray and Symbol, with the array as first input.
OPERATOR_METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "cbrt", "ceil",
    "clip", "cos", "cosh", "degrees", "depth_to_space", "exp", "expm1", "fix", "flip", "floor",
    "log", "log10", "log1p", "log2", "log_softmax", "max", "mean", "min", "nanprod", "nansum",
    "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt", "reciprocal",
    "relu", "repeat", "reshape_like", "rint", "round", "rsqrt", "shape_array", "sigmoid", "sign",
    "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like", "softmax", "softmin", "sort",
    "space_to_depth", "split", "sqrt", "square", "sum", "swapaxes", "take", "tan", "tanh", "tile",
    "topk", "transpose", "trunc", "zeros_like",
)  # fmt: skip

#: Operators that MXNet's ``sparse`` modules show, which give equal results on dense arrays.
_SPARSE_NAMES = (
    "ElementWiseSum", "Embedding", "FullyConnected", "LinearRegressionOutput",
    "LogisticRegressionOutput", "MAERegressionOutput", "abs", "adam_update", "add_n", "arccos",
    "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "broadcast_add", "broadcast_div",
    "broadcast_minus", "broadcast_mul", "broadcast_plus", "broadcast_sub", "cast_storage", "cbrt",
    "ceil", "clip", "concat", "cos", "cosh", "degrees", "dot", "elemwise_add", "elemwise_div",
    "elemwise_mul", "elemwise_sub", "exp", "expm1", "fix", "floor", "ftrl_update", "gamma",
    "gammaln", "log", "log10", "log1p", "log2", "make_loss", "mean", "negative", "norm", "radians",
    "relu", "rint", "round", "rsqrt", "sgd_mom_update", "sgd_update", "sigmoid", "sign", "sin",
    "sinh", "slice", "sqrt", "square", "stop_gradient", "sum", "tan", "tanh", "trunc", "where",
    "zeros_like",
)  # fmt: skip
#: Operators of those modules that need sparse storage, and what to use instead.
_SPARSE_ONLY = {
    "adagrad_update": "mx.optimizer.AdaGrad",
    "retain": "a product with a mask, or take",
}

_PREFIX_OF = {module: prefix for prefix, module in PREFIXES.items()}


def operator_function(
    op: OpDef, frontend: Frontend, name: str, call: OperatorCall
) -> Callable[..., Any]:
    def function(*args: object, **kwargs: object) -> Any:
        return call(op, name, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = call_doc(op, frontend)
    function.__signature__ = call_signature(op, frontend)  # type: ignore[attr-defined]
    return function


def operator_method(
    name: str, frontend: Frontend, class_name: str, call: OperatorCall
) -> Callable[..., Any]:
    """Returns the method ``name`` of a class: the operator, called on the object first."""
    op = lookup(name)
    assert op is not None, name

    def method(self: object, *args: object, **kwargs: object) -> Any:
        return call(op, name, (self, *args), kwargs)

    signature = call_signature(op, frontend)
    _, *parameters = signature.parameters.values()
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(parameters=[receiver, *parameters])  # type: ignore[attr-defined]
    method.__name__ = name
    method.__qualname__ = f"{class_name}.{name}"
    module, noun = ("sym", "symbol") if frontend == "symbol" else ("nd", "array")
    method.__doc__ = f"``mx.{module}.{name}`` of this {noun}.\n\n{call_doc(op, frontend)}"
    return method


def operator_module(
    namespace: dict[str, Any], module: str, frontend: Frontend, call: OperatorCall
) -> tuple[Callable[[str], Callable[..., Any]], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a Python module that shows the operators of
    ``module`` ('op', '_internal', 'contrib', 'linalg', 'random' or 'image'). ``namespace`` is the
    Python module's own, where functions are stored once they are made."""

    def get(name: str) -> Callable[..., Any]:
        full_name = _PREFIX_OF.get(module, "") + name
        op = lookup(full_name)
        if op is None or (module, name) not in public_names(full_name):
            raise AttributeError(_unknown(namespace["__name__"], name, full_name, names()))
        function = namespace[name] = operator_function(op, frontend, name, call)
        function.__module__ = namespace["__name__"]
        return function

    def names() -> list[str]:
        operators = {name for place, name, _ in namespace_entries() if place == module}
        return sorted(operators.union(namespace.get("__all__", ())))

    return get, names


def sparse_module(
    namespace: dict[str, Any], operators: ModuleType
) -> tuple[Callable[[str], Callable[..., Any]], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a Python module that shows the functions of
    MXNet's ``sparse`` modules, taken from the module ``operators``."""

    def get(name: str) -> Callable[..., Any]:
        module = namespace["__name__"]
        if name in _SPARSE_ONLY:
            return _refused(f"{module}.{name}", _SPARSE_ONLY[name])
        if name not in _SPARSE_NAMES:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(operators, name)

    def names() -> list[str]:
        return sorted({*_SPARSE_NAMES, *_SPARSE_ONLY, *namespace.get("__all__", ())})

    return get, names


def _refused(name: str, hint: str) -> Callable[..., NoReturn]:
    # A function, and no exception at lookup: documentation tools may read it.
    def refused(*args: object, **kwargs: object) -> NoReturn:
        """Raises NotSupportedError: it needs sparse storage."""
        raise NotSupportedError(name, "it needs sparse storage", hint=hint)

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    return refused


def _unknown(module: str, name: str, full_name: str, names: list[str]) -> str:
    reason = None if name.startswith("_") else unsupported_reason(full_name)
    if reason is None:
        return absent_attribute(module, name, names)
    return f"module {module!r} has no attribute {name!r}\n  because it is not served: {reason}"


#: Patterns of names without an operator, and reasons. All other names of MXNet's registry are
#: matched, and names of plugins and builds that are not in it too.
_REASONS: tuple[tuple[str, str], ...] = (
    (r"_npi_share_memory$", "Python here: mx.np.shares_memory"),
    (r"_npi_backward_|_npi_hsplit_backward$|.*_backward_np_|_backward_|_broadcast_backward|_contrib_backward_|_split_v2_backward",
        "gradient of another operator: JAX derives it"),
    (r"_contrib_dgl_|_contrib_edge_id$", "graph sampling on CSR matrices (DGL)"),
    (r"_sparse_", "sparse storage: arrays here are dense"),
    (r"_cv|_npi_cv|_imdecode$", "works on images on the host, on arrays only: mx.image"),
    (r"_TensorRT$|_contrib_tvm_|_tvm|_fused_op$|_FusedOp", "code generator of a GPU build"),
    (r"_NDArray$|_Native$", "holds pointers into the process that made it: see Custom"),
    (r"_CachedOp|_CrossDeviceCopy$|_CustomFunction$|_NoGradient$|_set_value$|_zeros_without_dtype$",
        "internal to MXNet's engine, never in a file"),
    (r"_contrib_quantize_asym$|_contrib_quantized_rnn$", "quantised recurrent networks"),
    (r"Caffe|Torch", "plugin that runs another framework"),
)  # fmt: skip


def unsupported_reason(name: str) -> str | None:
    """Returns the reason why an operator of MXNet is not supported, None if unknown.

    >>> unsupported_reason("_npi_share_memory")
    'Python here: mx.np.shares_memory'
    """
    return next((reason for names, reason in _REASONS if re.match(names, name)), None)
