"""Functions of ``mx.np`` that are one operator each: a line with the signature and the operator.

Arrays come before the semicolon. ``axis1:dim1`` is a parameter whose attribute has another name.
"""

import ast
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..calls.resolved_calls import ResolvedCall, with_constants
from ..calls.ways import run
from ..ndarray import NDArray
from ..ops.schema.call_rules import call_rules
from ..ops.schema.operator_registry import named
from .utils import call as call_on_arrays, is_number, is_numpy, operator, plain

_FUNCTIONS = """
all(a; axis=None, keepdims=False, out=None) _np_all
any(a; axis=None, keepdims=False, out=None) _np_any
sometrue(a; axis=None, keepdims=False, out=None) _np_any
max(a; axis=None, keepdims=False, out=None) _np_max
amax(a; axis=None, keepdims=False, out=None) _np_max
min(a; axis=None, keepdims=False, out=None) _np_min
amin(a; axis=None, keepdims=False, out=None) _np_min
sum(a; axis=None, dtype=None, keepdims=False, initial=None, out=None) _np_sum
prod(a; axis=None, dtype=None, out=None, keepdims=False) _np_prod
product(a; axis=None, dtype=None, out=None, keepdims=False) _np_prod
mean(a; axis=None, dtype=None, out=None, keepdims=False) _npi_mean
std(a; axis=None, dtype=None, out=None, ddof=0, keepdims=False) _npi_std
var(a; axis=None, dtype=None, out=None, ddof=0, keepdims=False) _npi_var
argmax(a; axis=None, out=None) _npi_argmax
argmin(a; axis=None, out=None) _npi_argmin
cumsum(a; axis=None, dtype=None, out=None) _np_cumsum
broadcast_to(array; shape) _npi_broadcast_to
copy(a; out=None) _np_copy
diag(array; k=0) _np_diag
diagflat(array; k=0) _np_diagflat
diagonal(a; offset=0, axis1=0, axis2=1) _np_diagonal
trace(a; offset=0, axis1=0, axis2=1, out=None) _np_trace
dot(a, b; out=None) _np_dot
expand_dims(a; axis) _npi_expand_dims
moveaxis(a; source, destination) _np_moveaxis
repeat(a; repeats, axis=None) _np_repeat
reshape(a; newshape, order='C', out=None) _np_reshape
roll(a; shift, axis=None) _np_roll
rot90(m; k=1, axes=(0, 1)) _npi_rot90
squeeze(a; axis=None, out=None) _np_squeeze
swapaxes(a; axis1:dim1, axis2:dim2) _npi_swapaxes
transpose(a; axes=None) _np_transpose
tril(m; k=0) _npi_tril
polyval(p, x;) _npi_polyval
"""

#: Functions that are NumPy's of a number.
_OF_NUMBERS = """
around(x; decimals=0, out=None) _npi_around
round(x; decimals=0, out=None) _npi_around
round_(x; decimals=0, out=None) _npi_around
nan_to_num(x; copy=True, nan=0.0, posinf=None, neginf=None) _npi_nan_to_num
"""

_LINALG = """
cholesky(a;) _npi_cholesky
eig(a;) _npi_eig
eigh(a; UPLO='L') _npi_eigh
eigvals(a;) _npi_eigvals
eigvalsh(a; UPLO='L') _npi_eigvalsh
inv(a;) _npi_inv
solve(a, b;) _npi_solve
svd(a;) _npi_svd
tensorinv(a; ind=2) _npi_tensorinv
tensorsolve(a, b; axes:a_axes=None) _npi_tensorsolve
"""


#: Sentences about parameters of several functions.
_REMARKS = {
    "keepdims": "With ``keepdims`` reduced axes stay, with length 1.",
    "initial": "``initial`` is a number with which the result starts.",
    "ddof": "``dtype`` is the type of the result.",
    "offset": "``offset`` is the diagonal's number, above the main one if positive; ``axis1`` and "
    "``axis2`` are the axes of the matrices.",
    "out": "The result is written to ``out``, if that is given, and returned.",
}


class _FunctionRow(NamedTuple):
    """A function: its operator, the names of its arrays, and its other parameters, each with the
    attribute and the default."""

    op_name: str
    arrays: tuple[str, ...]
    options: dict[str, tuple[str, Any]]


_LIMIT = 256
_REQUIRED: Any = inspect.Parameter.empty


def _parse(line: str) -> tuple[str, _FunctionRow]:
    head, _, op_name = line.rpartition(") ")
    name, _, parameters = head.partition("(")
    arrays, _, rest = parameters.partition(";")
    options = {}
    texts = rest.replace("(0, 1)", "(0,1)").split(", ") if rest.strip() else []
    for text in texts:
        parameter, has_default, default = text.strip().partition("=")
        parameter, _, attribute = parameter.partition(":")
        value = ast.literal_eval(default) if has_default else _REQUIRED
        options[parameter] = attribute or parameter, value
    return name, _FunctionRow(op_name, tuple(arrays.split(", ")) if arrays else (), options)


def _signature(row: _FunctionRow) -> inspect.Signature:
    kinds = inspect.Parameter
    kind = kinds.POSITIONAL_OR_KEYWORD
    parameters = [kinds(name, kind) for name in row.arrays]
    parameters += [kinds(n, kind, default=default) for n, (_, default) in row.options.items()]
    return inspect.Signature(parameters)


def _function(name: str, row: _FunctionRow, call: Callable[..., Any]) -> Callable[..., Any]:
    n, names = len(row.arrays), (*row.arrays, *row.options)
    attributes = {parameter: attribute for parameter, (attribute, _) in row.options.items()}

    def bound(args: Any, kwargs: Any) -> tuple[list[Any], Any, dict[str, Any]]:
        if len(args) > len(names):
            raise TypeError(f"{name}() takes at most {len(names)} arguments, got {len(args)}")
        arguments = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key in arguments or key not in names:
                problem = "got two values for" if key in arguments else "has no parameter"
                raise TypeError(f"{name}() {problem} {key!r}")
            arguments[key] = value
        missing = [x for x in row.arrays if x not in arguments]
        if missing:
            raise TypeError(f"{name}() needs {', '.join(map(repr, missing))}")
        arrays, out = [arguments.pop(x) for x in row.arrays], arguments.pop("out", None)
        return arrays, out, {attributes[k]: v for k, v in arguments.items() if v is not None}

    #: Resolved calls on arrays by their other arguments.
    known: dict[Any, ResolvedCall] = {}

    def function(*args: Any, **kwargs: Any) -> Any:
        key, plain_call = (args[n:], *kwargs.items()), len(args) >= n > 0
        if plain_call and isinstance(args[0], NDArray) and call_rules.rule is None:
            try:
                resolved = known.get(key)
            except TypeError:  # a list
                plain_call = False
            else:
                if resolved is not None and all(map(is_numpy, args[:n])):
                    return run(resolved, type(args[0]), args[:n])
        arrays, out, attrs = bound(args, kwargs)
        result = call(row.op_name, name, arrays, out, **attrs)
        if plain_call and out is None and isinstance(arrays[0], NDArray) and len(known) < _LIMIT:
            texts = {k: plain(k, v) for k, v in attrs.items()}
            known[key] = with_constants(operator(row.op_name), texts)
        return result

    function.__signature__ = _signature(row)  # type: ignore[attr-defined]
    return named(function, name, _docstring(row))


def _or_number(call: Callable[..., Any]) -> Callable[..., Any]:
    def either(op_name: str, name: str, arrays: list[Any], out: Any, **attrs: Any) -> Any:
        if is_number(arrays[0]):
            return getattr(np, name.strip("_"))(arrays[0], **attrs)
        return call(op_name, name, arrays, out, **attrs)

    return either


def _docstring(row: _FunctionRow) -> str:
    doc = operator(row.op_name).doc
    if row.arrays:
        doc = doc.replace("data", row.arrays[0])
    for parameter, (attribute, _) in row.options.items():
        doc = doc.replace(f"``{attribute}``", f"``{parameter}``")
    remarks = [text for parameter, text in _REMARKS.items() if parameter in row.options]
    return "\n\n".join([doc, *remarks])


def functions_of(
    text: str, call: Callable[..., Any] = call_on_arrays
) -> dict[str, Callable[..., Any]]:
    """Returns functions that ``call(operator, name, arrays, out, **attributes)``."""
    rows = [_parse(line) for line in text.strip().splitlines()]
    return {name: _function(name, row, call) for name, row in rows}


FUNCTIONS = functions_of(_FUNCTIONS) | functions_of(_OF_NUMBERS, _or_number(call_on_arrays))
LINALG = functions_of(_LINALG)
