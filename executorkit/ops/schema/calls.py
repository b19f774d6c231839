"""Calls of operators through ``mx.sym`` and ``mx.nd``: names, signatures, docstrings, arguments."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from ...errors import AttributeValueError, DTypeError
from .attrs import Aux, Count, Key, UnitInterval, dtype_name, dtype_of
from .inference import same_dtypes
from .operator_registry import OpDef, all_names, named
from .traits import MUTATES

Frontend = Literal["symbol", "ndarray"]

#: Modules of operators with a prefix; all other names that begin with ``_`` are in ``_internal``.
PREFIXES = {"_contrib_": "contrib", "_linalg_": "linalg", "_random_": "random", "_image_": "image"}
MODULES = ("op", "_internal", *PREFIXES.values())


class _Required:
    """Placeholder default of a required attribute: the arrays before it have defaults."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()

#: Options of a call that are neither arrays nor attributes, in order.
_OPTIONS = {"symbol": ("name", "attr", "out"), "ndarray": ("out", "name")}


def public_names(name: str) -> Iterator[tuple[str, str]]:
    """Yields the (module, public name) pairs of the operator name ``name``.

    >>> list(public_names("_contrib_box_nms")), list(public_names("relu"))
    ([('contrib', 'box_nms')], [('op', 'relu')])
    """
    for prefix, module in PREFIXES.items():
        if name.startswith(prefix):
            yield module, name.removeprefix(prefix)
            if module == "random":
                yield "_internal", name
            return
    yield ("_internal" if name.startswith("_") else "op"), name


def namespace_entries(names: Iterable[str] | None = None) -> Iterator[tuple[str, str, OpDef]]:
    """Yields (module, public name, operator) of every registered name, or of ``names``."""
    ops = all_names()
    for name in tuple(ops if names is None else names):
        for module, public in public_names(name):
            yield module, public, ops[name]


@lru_cache(maxsize=4096)
def call_signature(op: OpDef, frontend: Frontend) -> inspect.Signature:
    kind = inspect.Parameter
    parameters: list[inspect.Parameter] = []
    style = kind.POSITIONAL_OR_KEYWORD
    if op.variadic is not None:
        parameters.append(kind(op.variadic, kind.VAR_POSITIONAL))
        style = kind.KEYWORD_ONLY
    else:
        parameters += [kind(name, style, default=None) for name in op.array_names]
    for attr in op.attrs.values():
        marked = attr.tuning or attr.annotation in (Count, UnitInterval)
        annotation = get_args(attr.annotation)[0] if marked else attr.annotation
        default = REQUIRED if attr.required else attr.default
        parameters.append(kind(attr.name, style, default=default, annotation=annotation))
    names = {p.name for p in parameters}
    parameters += [kind(n, style, default=None) for n in _OPTIONS[frontend] if n not in names]
    parameters.append(kind("kwargs", kind.VAR_KEYWORD))
    return inspect.Signature(parameters)


#: Words by which a docstring shows that it describes the gradients.
_GRADIENTS = re.compile("gradient|derivative|backward", re.IGNORECASE)
#: Words by which a docstring shows that it describes the dtypes.
_DTYPES = re.compile(r"dtype|type|float|int(eger|\d)|bytes|bool")
_OPTION_DOCS: dict[Frontend, str] = {
    "symbol": """\
Of the symbol:
  name: the node's; made from the operator's if not given
  attr: annotations, a dict of texts
  out: without effect
Inputs that are not given become variables, such as ``<name>_weight``.""",
    "ndarray": """\
Of the call:
  out: the NDArray, or list of them, that the result is written to, and returned
  name: without effect""",
}


def _dtype_doc(op: OpDef) -> list[str]:
    if _DTYPES.search(op.doc) or not (op.array_names or op.variadic):
        return []
    if op.infer_type is same_dtypes:
        return ["All arrays, results too, are of one dtype.", ""]
    return [f"Results are of the dtype of {op.array_names[0]}.", ""] if op.array_names else []


def call_doc(op: OpDef, frontend: Frontend) -> str:
    """Returns the docstring of ``mx.sym.X`` or ``mx.nd.X``: the operator's own, a sentence on
    dtypes and gradients if it has none, a line per attribute, and the options of the call."""
    lines = []
    for attr in op.attrs.values():
        default = "required" if attr.required else f"default {attr.default!r}"
        effect = ", without effect" if attr.tuning else ""
        lines.append(f"  {attr.name}: {attr.accepts}, {default}{effect}")
    attributes = ["Attributes:", *lines] if lines else []
    takes_arrays = bool(op.array_names or op.variadic)
    plain = takes_arrays and MUTATES not in op.traits and not _GRADIENTS.search(op.doc)
    gradients = ["Gradients are JAX's derivatives of this function.", ""] if plain else []
    return "\n".join([op.doc, "", *_dtype_doc(op), *gradients, *attributes, _OPTION_DOCS[frontend]])


@dataclass(frozen=True, slots=True)
class BoundCall:
    """The arguments of a call, sorted into arrays, attributes and options.

    ``arrays`` are positional, for operators with any number of inputs; ``named`` are array inputs
    by name; ``attrs`` are the attributes given (without defaults), and every unknown keyword.
    """

    arrays: tuple[Any, ...]
    named: dict[str, Any]
    attrs: dict[str, Any]
    options: dict[str, Any]


@lru_cache(maxsize=4096)
def _positions(
    op: OpDef, frontend: Frontend
) -> tuple[tuple[str, ...], frozenset[str], frozenset[str]]:
    options = tuple(n for n in _OPTIONS[frontend] if n not in op.attrs and n not in op.array_names)
    arrays = () if op.variadic is not None else op.array_names
    return (*arrays, *op.attrs, *options), frozenset(arrays), frozenset(options)


def bind_call(
    op: OpDef,
    frontend: Frontend,
    func_name: str,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> BoundCall:
    """Sorts the arguments of a call of ``func_name``.

    Raises TypeError, as Python does, for too many positional arguments and for one given twice. An
    array input that is None counts as not given.
    """
    order, array_names, option_names = _positions(op, frontend)
    arguments = dict(kwargs)
    positional: tuple[Any, ...] = ()
    if op.variadic is not None:
        positional = args
    else:
        if len(args) > len(order):
            problem = f"takes at most {len(order)} positional arguments, got {len(args)}"
            raise TypeError(f"{func_name}() {problem}")
        for name, value in zip(order, args, strict=False):
            if name in arguments:
                raise TypeError(f"{func_name}() got {name!r} by position and by keyword")
            arguments[name] = value
    call = BoundCall(positional, {}, {}, {})
    for name, value in arguments.items():
        if name in array_names:
            if value is not None:
                call.named[name] = value
        elif name in option_names:
            call.options[name] = value
        else:
            call.attrs[name] = numpy_dtype_name(value) if name == "dtype" else value
    return call


def numpy_dtype_name(value: Any) -> str:
    """Reads a ``dtype`` argument as NumPy does: ``float`` and None are float64, as in MXNet."""
    value = dtype_of(value)
    try:
        return np.dtype(value).name
    except TypeError:
        pass
    try:
        return dtype_name(value)
    except AttributeValueError as error:
        raise DTypeError(*error.args) from None


#: ``run(arrays, attrs)`` or, for random operators, ``run(arrays, attrs, key)``.
ArrayFunction = Callable[..., Any]


def with_signature(
    run: ArrayFunction,
    name: str,
    doc: str,
    arrays: tuple[str, ...],
    attrs: Mapping[str, tuple[Any, Any]],
    *,
    states: tuple[str, ...] = (),
    random: bool = False,
) -> Callable[..., Any]:
    """Returns an operator's function that calls ``run``.

    ``arrays`` are names, or one name with a star for any number of arrays; ``states`` are the
    auxiliary ones. ``attrs`` maps names to (annotation, default), where ``inspect.Parameter.empty``
    stands for a required attribute. A ``random`` operator gets a key.
    """
    variadic = arrays[0].startswith("*") if arrays else False

    def fn(*args: object, **keywords: object) -> Any:
        extra = (keywords.pop("key"),) if random else ()
        inputs = () if variadic else tuple(keywords.pop(n) for n in arrays[len(args) :])
        return run((*args, *inputs), keywords, *extra)

    kinds = inspect.Parameter
    kind = kinds.VAR_POSITIONAL if variadic else kinds.POSITIONAL_OR_KEYWORD
    parameters = [
        kinds(n.lstrip("*"), kind, annotation=Aux if n in states else Any) for n in arrays
    ]
    parameters += [
        kinds(n, kinds.KEYWORD_ONLY, annotation=hint, default=default)
        for n, (hint, default) in attrs.items()
    ]
    if random:
        parameters.append(kinds("key", kinds.KEYWORD_ONLY, annotation=Key))
    fn.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    fn.__annotations__ = {p.name: p.annotation for p in parameters}
    return named(fn, name, doc)


def same_signature(other: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def copy(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.__signature__ = inspect.signature(other)  # type: ignore[attr-defined]
        fn.__annotations__ = dict(other.__annotations__)
        fn.__kwdefaults__ = other.__kwdefaults__
        return fn

    return copy
