"""What an operator is: one typed function, and the few facts that its signature cannot say.

    @register("FullyConnected", inputs=..., fill=...)
    def fully_connected(data, weight, bias=None, *, num_hidden: int, no_bias: bool = False):
        '''y = x W^T + b. ...'''

Positional parameters are array inputs in MXNet's order (``*data`` for any number of them);
keyword-only parameters are attributes, with MXNet's defaults and in MXNet's order, because users
pass them positionally. Markers in annotations name auxiliary states, the PRNG key and the train
flag (see ``_attrs``). The function returns one array or a tuple: the outputs, then the new value
of each auxiliary state.

No jax in here: the registry, the graph and the command line's ``coverage`` work without it.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from ..errors import AttributeValueError, DTypeError, ShapeError, explain
from ._attrs import AUX, BODIES, KEY, TRAIN, Attr, Shape, make_attr, to_text

F = TypeVar("F", bound=Callable[..., Any])


class Params(dict[str, Any]):
    """The parsed attributes of one operator node, readable as ``p.kernel``."""

    __slots__ = ("_key",)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def key(self) -> tuple[tuple[str, Any], ...]:
        """A hashable form: equal keys mean equal computations."""
        try:
            return self._key
        except AttributeError:
            self._key = tuple(sorted(self.items()))
            return self._key


def merge_shapes(old: Shape | None, new: Iterable[int] | None) -> Shape | None:
    """Both descriptions of a shape at once (None and 0: unknown); ValueError if they differ.

    >>> merge_shapes((0, 3), (2, 0))
    (2, 3)
    """
    if new is None:
        return old
    new = tuple(int(d) for d in new)
    if old is None:
        return new
    if len(old) != len(new) or any(a and b and a != b for a, b in zip(old, new, strict=True)):
        raise ValueError
    return tuple(a or b for a, b in zip(old, new, strict=True))


def shape_text(shape: Shape | None) -> str:
    """A shape for messages, with question marks for what is unknown.

    >>> shape_text((0, 3))
    '(?, 3)'
    """
    if shape is None:
        return "unknown"
    sizes = ", ".join(str(d or "?") for d in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def known(shape: Shape | None) -> typing.TypeGuard[Shape]:
    """Whether every dimension of a shape is known."""
    return shape is not None and 0 not in shape


class Facts(dict[str, Any]):
    """What is known about the shapes (or element types) around one node, while it is inferred.

    Keys are the node's input names and ``"out0"``, ``"out1"``, ...; a missing fact reads as None.
    ``set`` adds knowledge and refuses a contradiction with an error whose arguments are the
    problem, its reason and the name of the fact; inference makes the user's message of them.
    """

    __slots__ = ("changed", "op")

    def __init__(self, op: str, facts: Mapping[str, Any]) -> None:
        super().__init__(facts)
        self.op = op
        self.changed = False

    def __getitem__(self, name: str) -> Any:
        return self.get(name)


class ShapeFacts(Facts):
    """Shapes around a node: tuples in which 0 is an unknown dimension, or None."""

    __slots__ = ()

    def set(self, name: str, shape: Iterable[int] | None, because: str | None = None) -> None:
        """Adds what ``shape`` says about ``name``; names the node does not have are skipped."""
        if name not in self:
            return
        old = self[name]
        try:
            new = merge_shapes(old, shape)
        except ValueError:
            expected = tuple(shape) if shape is not None else None
            problem = f"{name!r} is {shape_text(old)}, expected {shape_text(expected)}"
            raise ShapeError(problem, because, name) from None
        if new != old:
            self[name] = new
            self.changed = True

    def same(self, *names: str) -> None:
        """States that all named shapes are equal (all names of the node if none is given)."""
        names = names or tuple(self)
        for name in names:
            self.set(names[0], self[name])
        for name in names[1:]:
            self.set(name, self[names[0]])


class TypeFacts(Facts):
    """Element types around a node: dtype names, or None."""

    __slots__ = ()

    def set(self, name: str, dtype: str | None, because: str | None = None) -> None:
        """Adds that ``name`` has ``dtype``; inputs that the node does not have are skipped."""
        if name not in self or dtype is None:
            return
        old = self[name]
        if old is None:
            self[name] = dtype
            self.changed = True
        elif old != dtype:
            raise DTypeError(f"{name!r} is {old}, expected {dtype}", because, name)

    def same(self, *names: str) -> None:
        """States that all named types are equal (all names of the node if none is given)."""
        names = names or tuple(self)
        first = next((self[n] for n in names if self[n] is not None), None)
        for name in names:
            self.set(name, first)


Fill = Callable[[ShapeFacts, Params], None]
Types = Callable[[TypeFacts, Params], None]


def same_types(t: TypeFacts, p: Params) -> None:
    """The rule of most operators: every input and output has one element type."""
    t.same()


def typed(output: str, *inputs: str) -> Types:
    """A rule for operators whose output type is given: by an attribute's name or a dtype's name.

    Inputs named (default: none) are of one type among themselves.
    """

    def rule(t: TypeFacts, p: Params) -> None:
        if inputs:
            t.same(*inputs)
        dtype = p.get(output, output)
        for name in tuple(t):
            if name.startswith("out"):
                t.set(name, dtype)

    return rule


def same_shapes(s: ShapeFacts, p: Params) -> None:
    """The rule of element-wise operators: every input and output has one shape."""
    s.same()


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
    fill: Fill | None
    types: Types
    loss: Callable[[Params], bool]
    pins: Callable[[Params], Mapping[str, float]]
    shape_attr: str | None
    effects: bool
    imperative: bool
    dynamic: bool
    inner_states: bool
    _inputs: Callable[[Params], tuple[str, ...]] | None
    _outputs: Callable[[Params], tuple[str, ...]]
    _visible: Callable[[Params], int] | None
    _aux: Callable[[Params], tuple[str, ...]] | None
    _draws: Callable[[Params, bool], bool] | None

    @property
    def doc(self) -> str:
        return inspect.cleandoc(self.fn.__doc__ or "")

    def parse(self, texts: Mapping[str, Any]) -> Params:
        """The parsed attributes of a node; values may be texts or Python values.

        Raises :class:`AttributeValueError` for an unknown, missing or malformed attribute.
        """
        values: dict[str, Any] = {}
        for name, value in texts.items():
            attr = self.attrs.get(name)
            if attr is None:
                if not self.open_attrs:
                    raise AttributeValueError(
                        explain(
                            f"operator {self.name}",
                            f"unknown attribute {name!r} (value {to_text(value)!r})",
                            hint=f"one of: {', '.join(self.attrs) or 'it takes none'}",
                        )
                    )
                values[name] = to_text(value)
            else:
                parsed = attr.read(self.name, to_text(value))
                if not attr.tuning:
                    values[name] = parsed
        for attr in self.attrs.values():
            if attr.tuning or attr.name in values:
                continue
            if attr.required:
                raise AttributeValueError(
                    explain(
                        f"operator {self.name}",
                        f"required attribute {attr.name!r} is not given, expected {attr.accepts}",
                    )
                )
            values[attr.name] = attr.default
        return Params(values)

    def inputs(self, p: Params) -> tuple[str, ...]:
        """Names of the array inputs of a node with these attributes, auxiliary states included."""
        if self._inputs is not None:
            return self._inputs(p)
        if self.variadic is not None:
            return tuple(f"arg{i}" for i in range(p[self.count] if self.count else 0))
        return self.array_names

    def aux_of(self, p: Params) -> tuple[str, ...]:
        """Names of the inputs that are auxiliary states."""
        return self.aux if self._aux is None else self._aux(p)

    def draws(self, p: Params, train: bool) -> bool:
        """Whether a run in this mode draws random numbers, so that it needs a PRNG key."""
        return self.key_name is not None and (self._draws is None or self._draws(p, train))

    def open_shape(self, p: Params) -> str | None:
        """The attribute that leaves (part of) the output's shape to the consumers, if one does."""
        if self.shape_attr is None:
            return None
        shape = p[self.shape_attr]
        return self.shape_attr if not shape or 0 in shape else None

    def outputs(self, p: Params) -> tuple[str, ...]:
        """Names of all outputs, hidden ones last."""
        return self._outputs(p)

    def visible(self, p: Params) -> int:
        """How many of the outputs a symbol of this operator shows."""
        return len(self._outputs(p)) if self._visible is None else self._visible(p)

    def apply(
        self, p: Params, arrays: Iterable[Any], *, key: Any = None, train: bool = False
    ) -> tuple[Any, ...]:
        """Runs the function on arrays given in the order of ``inputs(p)``.

        Returns outputs, then new auxiliary states, as a flat tuple.
        """
        keywords: dict[str, Any] = dict(p)
        if self.key_name:
            keywords[self.key_name] = key
        if self.train_name:
            keywords[self.train_name] = train
        if self.variadic is not None:
            result = self.fn(*arrays, **keywords)
        else:
            result = self.fn(**dict(zip(self.inputs(p), arrays, strict=True)), **keywords)
        return result if isinstance(result, tuple) else (result,)


_OPS: dict[str, OpDef] = {}


def _constant(value: Any) -> Callable[[Params], Any]:
    return value if callable(value) else lambda p: value


def register(
    name: str,
    *aliases: str,
    inputs: Callable[[Params], tuple[str, ...]] | None = None,
    outputs: tuple[str, ...] | Callable[[Params], tuple[str, ...]] = ("output",),
    visible: int | Callable[[Params], int] | None = None,
    fill: Fill | None = None,
    types: Types = same_types,
    loss: bool | Callable[[Params], bool] = False,
    pins: Callable[[Params], Mapping[str, float]] | None = None,
    shape_attr: str | None = None,
    count: str = "num_args",
    effects: bool = False,
    imperative: bool = False,
    dynamic: bool = False,
    inner_states: bool = False,
    aux: Callable[[Params], tuple[str, ...]] | None = None,
    draws: Callable[[Params, bool], bool] | None = None,
) -> Callable[[F], F]:
    """Registers a function as the operator ``name``, also found under ``aliases``.

    inputs
        names of the inputs that a node has, where attributes decide (``no_bias``).
    outputs, visible
        names of the outputs, and how many of them a symbol shows.
    fill
        ``fill(shapes, params)`` deduces unknown input shapes (and, where inference runs backwards,
        uses ``shapes["out0"]``). Output shapes are never written: they come from the function.
    types
        ``types(dtypes, params)``; the default states that all inputs and outputs are of one type.
    loss
        whether ``backward`` needs no head gradient for this operator's outputs.
    pins
        inputs that MXNet overwrites with a constant whenever the operator runs (``fix_gamma``).
    shape_attr
        the attribute that holds the output shape of an operator without inputs; a 0 in it (or
        nothing at all) is unknown, to be filled from the consumers.
    count
        the attribute with the number of inputs, for ``*data`` operators.
    effects
        the operator calls back into Python, so that its forward must run when it is asked for.
    imperative
        the operator exists for arrays only: it changes its auxiliary inputs when it is called, and
        graphs refuse it.
    dynamic
        MXNet learns the output shapes only when the operator runs, so that inference of shapes
        answers that they are unknown (binding knows them all the same).
    inner_states
        auxiliary states of the node's subgraphs are those of the node.
    aux
        names of the auxiliary inputs, where attributes decide (Custom); else markers say so.
    draws
        ``draws(params, train)``: whether the function uses its PRNG key, where attributes or the
        mode decide (Dropout outside training); it gets None for a key where it does not.

    >>> from executorkit import ops
    >>> @ops.register("my_scale")
    ... def my_scale(data, *, by: float = 2.0):
    ...     '''data times ``by``.'''
    ...     return data * by
    """

    def add(fn: F) -> F:
        facts = _read_signature(fn)
        op = OpDef(
            name=name,
            names=(name, *aliases),
            fn=fn,
            fill=fill,
            types=types,
            loss=_constant(loss),
            pins=pins or (lambda p: {}),
            shape_attr=shape_attr,
            effects=effects,
            imperative=imperative,
            dynamic=dynamic,
            inner_states=inner_states,
            count=count if facts["variadic"] is not None and count in facts["attrs"] else None,
            _inputs=inputs,
            _outputs=_constant(outputs),
            _visible=None if visible is None else _constant(visible),
            _aux=aux,
            _draws=draws,
            **facts,
        )
        for n in op.names:
            if n in _OPS:
                raise ValueError(f"operator {n!r} is already registered, as {_OPS[n].name}")
        for n in op.names:
            _OPS[n] = op
        return fn

    return add


def _read_signature(fn: Callable[..., Any]) -> dict[str, Any]:
    """What a function's parameters and their markers say about the operator."""
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
    """The operator that MXNet calls ``name``, or None if it is not served."""
    return _OPS.get(name)


def all_ops() -> Iterator[OpDef]:
    """Every registered operator once, in order of registration."""
    return iter(dict.fromkeys(_OPS.values()))


def all_names() -> Mapping[str, OpDef]:
    """Every name under which an operator is found, aliases included."""
    return MappingProxyType(_OPS)
