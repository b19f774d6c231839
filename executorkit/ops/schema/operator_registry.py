"""The definition of an operator: one typed function, and the facts that its signature cannot say.

    @register("FullyConnected", inputs=..., infer_shape=...)
    def fully_connected(data, weight, bias=None, *, num_hidden: int, no_bias: bool = False):
        '''y = x W^T + b. ...'''

Positional parameters are array inputs in MXNet's order (``*data`` for any number of them);
keyword-only parameters are attributes, with MXNet's defaults and in MXNet's order, because users
pass them positionally. Markers in annotations name auxiliary states, the PRNG key and the train
flag (see ``schema.attrs``). The function returns one array or a tuple: the outputs, then the new
value of each auxiliary state. No jax in here.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from ...errors import ArgumentValueError, AttributeValueError, did_you_mean
from .attrs import AUX, BODIES, KEY, TRAIN, Attr, make_attr, to_text
from .channels_last import LayoutRule
from .inference import InferShape, InferType, OutputShapes, Params, same_dtypes
from .traits import ALL_TRAITS, IGNORES_UNKNOWN, LABEL_FOR_GRADIENT

F = TypeVar("F", bound=Callable[..., Any])

#: Groups of operators, each of which has a colour in drawings of a network.
Kind = Literal["dense", "norm", "act", "pool", "shape", "loss"]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """Facts about an operator that matter only in files written by or for MXNet.

    ``former_attrs`` maps names of attributes in early releases to present ones. ``initializers``
    are the initializers, in MXNet's JSON form, of variables made for inputs not given, by input
    name. ``scratch_outputs`` is the number of outputs that hold working memory, which MXNet counts.
    """

    former_attrs: Mapping[str, str] = field(default_factory=dict)
    initializers: Mapping[str, str] = field(default_factory=dict)
    scratch_outputs: Callable[[Params], int] = lambda p: 0


class OpenShape(NamedTuple):
    """The shape of an operator without inputs, which attributes may leave to the consumers:
    ``read`` returns the shape if part of it is unknown (0, or all of it for ()), else None;
    ``fill`` returns the attributes that give a shape."""

    read: Callable[[Params], tuple[int, ...] | None]
    fill: Callable[[Params, tuple[int, ...]], Params]


def _read_shape(p: Params) -> tuple[int, ...] | None:
    shape = tuple(max(length, 0) for length in p.shape or ())
    return shape if not shape or 0 in shape else None


#: The shape is the attribute ``shape``; a 0 or -1 in it, or nothing at all, is unknown.
SHAPE_ATTRIBUTE = OpenShape(_read_shape, lambda p, shape: Params({**p, "shape": shape}))


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """An operator: its function and everything the graph needs to know about it."""

    name: str
    names: tuple[str, ...]
    fn: Callable[..., Any]
    array_names: tuple[str, ...]
    variadic: str | None
    count: str | None
    attrs: Mapping[str, Attr]
    open_attrs: bool
    aux: tuple[str, ...]
    key_name: str | None
    train_name: str | None
    infer_shape: InferShape | None
    output_shapes: OutputShapes | None
    infer_type: InferType
    loss: Callable[[Params], bool]
    constant_inputs: Callable[[Params], Mapping[str, float]]
    layout_rule: LayoutRule | None
    traits: frozenset[str]
    kind: Kind | None
    file_format: FileFormat
    host: Callable[..., Any] | None
    _inputs: Callable[[Params], tuple[str, ...]] | None
    _outputs: Callable[[Params], tuple[str, ...]]
    _visible: Callable[[Params], int] | None
    _aux: Callable[[Params], tuple[str, ...]] | None
    _uses_rng: Callable[[Params, bool], bool] | None
    _checks_values: Callable[[Params], bool]
    _open_shape: OpenShape | None
    in_place: OpDef | None = None
    unlabeled: OpDef | None = None

    @property
    def has_shape_attribute(self) -> bool:
        """True if the attribute ``shape`` is the output's shape, and may leave it open."""
        return self._open_shape is SHAPE_ATTRIBUTE

    @property
    def ignores_unknown(self) -> bool:
        """True if attributes that the operator does not have are ignored."""
        return IGNORES_UNKNOWN in self.traits or not (self.attrs or self.open_attrs)

    @property
    def doc(self) -> str:
        """The docstring of the function, without its indentation."""
        return inspect.cleandoc(self.fn.__doc__ or "")

    def parse(self, texts: Mapping[str, object]) -> Params:
        """Parses the attributes of a node; values may be texts or Python values.

        Raises :class:`AttributeValueError` for an unknown, missing or malformed attribute. As in
        MXNet, operators without attributes ignore any attribute.
        """
        values: dict[str, Any] = {}
        for name, value in texts.items():
            attr = self.attrs.get(name)
            if attr is None:
                if self.ignores_unknown:
                    continue
                if not self.open_attrs:
                    problem = f"unknown attribute {name!r} (value {to_text(value)!r})"
                    hint = did_you_mean(name, self.attrs)
                    raise AttributeValueError(f"operator {self.name}", problem, hint=hint)
                values[name] = to_text(value)
            else:
                parsed = attr.read(self.name, value)
                if not attr.tuning:
                    values[name] = parsed
        for attr in self.attrs.values():
            if attr.tuning or attr.name in values:
                continue
            if attr.required:
                problem = f"required attribute {attr.name!r} is not given, expected {attr.accepts}"
                raise AttributeValueError(f"operator {self.name}", problem)
            values[attr.name] = attr.default
        return Params(values)

    def inputs(self, p: Params) -> tuple[str, ...]:
        """Returns the names of the array inputs of such a node, auxiliary states included."""
        if self._inputs is not None:
            return self._inputs(p)
        if self.variadic is not None:
            return tuple(f"arg{i}" for i in range(p[self.count] if self.count else 0))
        return self.array_names

    def aux_of(self, p: Params) -> tuple[str, ...]:
        """Returns the names of the inputs that are auxiliary states."""
        return self.aux if self._aux is None else self._aux(p)

    def uses_rng(self, p: Params, train: bool) -> bool:
        """Returns True if a run in this mode draws random numbers, so that it needs a PRNG key."""
        return self.key_name is not None and (self._uses_rng is None or self._uses_rng(p, train))

    def checks_values(self, p: Params) -> bool:
        """Returns True if the operator may refuse values at run time."""
        return self._checks_values(p)

    def open_shape(self, p: Params) -> tuple[int, ...] | None:
        """Returns the output's shape where attributes leave (part of) it to the consumers, else
        None. Unknown lengths are 0; () is unknown altogether."""
        return None if self._open_shape is None else self._open_shape.read(p)

    def with_shape(self, p: Params, shape: tuple[int, ...]) -> Params:
        """Returns the attributes with which an open output has ``shape``."""
        assert self._open_shape is not None, self.name
        return self._open_shape.fill(p, shape)

    def outputs(self, p: Params) -> tuple[str, ...]:
        """Returns the names of all outputs, hidden ones last."""
        return self._outputs(p)

    def visible(self, p: Params) -> int:
        """Returns the number of outputs that a symbol of this operator shows."""
        return len(self._outputs(p)) if self._visible is None else self._visible(p)

    def apply(
        self,
        p: Params,
        arrays: Iterable[object],
        *,
        key: Any = None,
        train: bool = False,
        function: Callable[..., Any] | None = None,
    ) -> tuple[Any, ...]:
        """Runs the function (or the given substitute) on arrays in the order of ``inputs(p)``;
        returns outputs, then new auxiliary states."""
        fn = function or self.fn
        keywords: dict[str, Any] = dict(p)
        if self.key_name:
            keywords[self.key_name] = key
        if self.train_name:
            keywords[self.train_name] = train
        if self.variadic is not None:
            result = fn(*arrays, **keywords)
        else:
            result = fn(**dict(zip(self.inputs(p), arrays, strict=True)), **keywords)
        return result if isinstance(result, tuple) else (result,)


_OPS: dict[str, OpDef] = {}
#: The operators of ``mx.np`` and ``mx.npx``, which are registered at the first look-up of one.
NUMPY_OPS: dict[str, OpDef] = {}


def _as_function(value: object) -> Callable[[Params], Any]:
    return value if callable(value) else lambda p: value


def register(
    name: str,
    *aliases: str,
    inputs: Callable[[Params], tuple[str, ...]] | None = None,
    outputs: tuple[str, ...] | Callable[[Params], tuple[str, ...]] = ("output",),
    visible: int | Callable[[Params], int] | None = None,
    infer_shape: InferShape | None = None,
    output_shapes: OutputShapes | None = None,
    infer_type: InferType = same_dtypes,
    loss: bool | Callable[[Params], bool] = False,
    constant_inputs: Callable[[Params], Mapping[str, float]] | None = None,
    open_shape: OpenShape | None = None,
    count: str = "num_args",
    aux: Callable[[Params], tuple[str, ...]] | None = None,
    uses_rng: Callable[[Params, bool], bool] | None = None,
    checks_values: bool | Callable[[Params], bool] = False,
    in_place: Callable[..., Any] | None = None,
    layout_rule: LayoutRule | None = None,
    traits: Collection[str] = (),
    kind: Kind | None = None,
    file_format: FileFormat = FileFormat(),
    host: Callable[..., Any] | bool = False,
    table: dict[str, OpDef] | None = None,
) -> Callable[[F], F]:
    """Registers a function as the operator ``name``, also found under ``aliases``.

    inputs
        Returns the names of the inputs that a node has, where attributes decide (``no_bias``).
    outputs, visible
        Names of the outputs, and the number of them that a symbol shows.
    infer_shape
        ``infer_shape(shapes, params)`` deduces unknown input shapes (from ``shapes["out0"]`` too).
        Output shapes come from the function.
    output_shapes
        ``output_shapes(params, shapes)`` returns the output shapes for known input shapes and
        floating types, or None to trace the function, which takes a hundred times as long.
    infer_type
        ``infer_type(dtypes, params)``; by default all inputs and outputs have one type.
    loss
        True if ``backward`` needs no head gradient for this operator's outputs.
    constant_inputs
        Inputs that MXNet overwrites with a constant whenever the operator runs (``fix_gamma``).
    open_shape
        For an operator without inputs whose shape may follow from the consumers:
        ``SHAPE_ATTRIBUTE``, or an :class:`OpenShape`.
    count
        The attribute with the number of inputs, for ``*data`` operators.
    aux
        Names of the auxiliary inputs, where attributes decide (Custom); else markers say so.
    checks_values
        True if the function calls ``check_values`` (:mod:`executorkit.ops.value_checks`).
    uses_rng
        ``uses_rng(params, train)``: False if the function does not use its PRNG key, and gets None
        (Dropout outside training).
    in_place
        The function that runs instead when ``out`` of a call is its first input, for operators that
        then read what they have just written in MXNet.
    layout_rule
        How the operator runs on channels-last data, one of the rules in ``schema.channels_last``;
        by default it runs channels first only.
    traits
        Properties that passes and compilers ask for, of ``schema.traits``.
    kind
        The group of operators in whose colour drawings show it.
    file_format
        Facts that matter only in MXNet's files.
    host
        The function that computes the only output from NumPy arrays, for unrecorded calls on the
        CPU; True if ``fn`` does so itself. For operators on data of ever-new shapes (images), for
        each of which a program would be traced. It gets the two words of a key as integers, and may
        return None to leave a call to ``fn``.
    table
        The names that it is added to: by default the operators of ``mx.nd`` and ``mx.sym``.

    >>> from executorkit import ops
    >>> @ops.register("my_scale")
    ... def my_scale(data, *, by: float = 2.0):
    ...     '''data times ``by``.'''
    ...     return data * by
    """
    unknown = [t for t in traits if t not in ALL_TRAITS]
    if unknown:
        hint = did_you_mean(unknown[0], ALL_TRAITS)
        raise ArgumentValueError(f"operator {name}", f"unknown trait {unknown[0]!r}", hint=hint)

    def add(fn: F) -> F:
        signature = _read_signature(fn)
        counted = signature["variadic"] is not None and count in signature["attrs"]
        op = OpDef(
            name=name,
            names=(name, *aliases),
            fn=fn,
            infer_shape=infer_shape,
            output_shapes=output_shapes,
            infer_type=infer_type,
            loss=_as_function(loss),
            constant_inputs=constant_inputs or (lambda p: {}),
            layout_rule=layout_rule,
            traits=frozenset(traits),
            kind=kind,
            file_format=file_format,
            host=fn if host is True else host or None,
            count=count if counted else None,
            _inputs=inputs,
            _outputs=_as_function(outputs),
            _visible=None if visible is None else _as_function(visible),
            _aux=aux,
            _uses_rng=uses_rng,
            _checks_values=_as_function(checks_values),
            _open_shape=open_shape,
            **signature,
        )
        if in_place is not None:
            op = replace(op, in_place=replace(op, fn=in_place))
        if LABEL_FOR_GRADIENT in op.traits:
            op = replace(op, unlabeled=replace(op, _inputs=lambda p: (op.array_names[0],)))
        names = _OPS if table is None else table
        for n in op.names:
            if n in names:
                raise ValueError(f"operator {n!r} is already registered, as {names[n].name}")
        for n in op.names:
            names[n] = op
        return fn

    return add


def named(fn: F, name: str, doc: str) -> F:
    """Returns the function itself, with a name and a docstring."""
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc.rstrip()
    return fn


def _read_signature(fn: Callable[..., Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(fn, include_extras=True)
    arrays: list[str] = []
    aux: list[str] = []
    attrs: dict[str, Attr] = {}
    variadic = key_name = train_name = None
    open_attrs = False
    for parameter in inspect.signature(fn).parameters.values():
        hint = hints.get(parameter.name)
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            open_attrs = True
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            arrays.append(parameter.name)
            if AUX in marks:
                aux.append(parameter.name)
        elif KEY in marks:
            key_name = parameter.name
        elif TRAIN in marks:
            train_name = parameter.name
        elif BODIES in marks:
            continue
        else:
            attrs[parameter.name] = make_attr(parameter.name, hint, parameter.default)
    return {
        "array_names": tuple(arrays),
        "variadic": variadic,
        "attrs": attrs,
        "open_attrs": open_attrs,
        "aux": tuple(aux),
        "key_name": key_name,
        "train_name": train_name,
    }


def lookup(name: str) -> OpDef | None:
    """Returns the operator that MXNet calls ``name``, or None if it is not supported."""
    op = _OPS.get(name)
    return numpy_ops().get(name) if op is None and name.startswith("_np") else op


def all_ops() -> Iterator[OpDef]:
    """Returns every operator of ``mx.nd`` and ``mx.sym`` once, in order of registration."""
    return iter(dict.fromkeys(_OPS.values()))


def all_names() -> Mapping[str, OpDef]:
    """Returns every name under which an operator of ``mx.nd`` and ``mx.sym`` is found, aliases
    included."""
    return MappingProxyType(_OPS)


def numpy_ops() -> Mapping[str, OpDef]:
    """Returns every name under which an operator of ``mx.np`` and ``mx.npx`` is found."""
    import_module(f"{__name__.partition('.')[0]}.ops.numpy")
    return MappingProxyType(NUMPY_OPS)
