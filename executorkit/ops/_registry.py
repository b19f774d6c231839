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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from ._attrs import AUX, BODIES, KEY, TRAIN, Attr, make_attr
from ._facts import Params
from ._layouts import LayoutRule
from ._opdef import OpDef
from ._rules import InferShape, InferType, same_dtypes

F = TypeVar("F", bound=Callable[..., Any])

_OPS: dict[str, OpDef] = {}


def _constant(value: Any) -> Callable[[Params], Any]:
    return value if callable(value) else lambda p: value


def register(
    name: str,
    *aliases: str,
    inputs: Callable[[Params], tuple[str, ...]] | None = None,
    outputs: tuple[str, ...] | Callable[[Params], tuple[str, ...]] = ("output",),
    visible: int | Callable[[Params], int] | None = None,
    infer_shape: InferShape | None = None,
    types: InferType = same_dtypes,
    loss: bool | Callable[[Params], bool] = False,
    constant_inputs: Callable[[Params], Mapping[str, float]] | None = None,
    shape_attr: str | None = None,
    count: str = "num_args",
    effects: bool = False,
    mutates: bool = False,
    dynamic_shape: bool = False,
    inner_states: bool = False,
    ignore_unknown: bool = False,
    aux: Callable[[Params], tuple[str, ...]] | None = None,
    uses_rng: Callable[[Params, bool], bool] | None = None,
    in_place: Callable[..., Any] | None = None,
    last: LayoutRule | None = None,
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
    lenient
        attributes that the operator does not have are ignored, as always where it has none.
    aux
        names of the auxiliary inputs, where attributes decide (Custom); else markers say so.
    draws
        ``draws(params, train)``: whether the function uses its PRNG key, where attributes or the
        mode decide (Dropout outside training); it gets None for a key where it does not.
    in_place
        the function that runs instead when ``out`` of a call is its first input, for operators of
        which MXNet then reads what it has just written.
    last
        how the operator runs on channels-last data, one of the rules in ``_layouts``; without one,
        it always runs on data as it is in the graph.

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
            infer_shape=infer_shape,
            types=types,
            loss=_constant(loss),
            constant_inputs=constant_inputs or (lambda p: {}),
            shape_attr=shape_attr,
            effects=effects,
            mutates=mutates,
            dynamic_shape=dynamic_shape,
            inner_states=inner_states,
            ignore_unknown=ignore_unknown or not (facts["attrs"] or facts["open_attrs"]),
            last=last,
            count=count if facts["variadic"] is not None and count in facts["attrs"] else None,
            _inputs=inputs,
            _outputs=_constant(outputs),
            _visible=None if visible is None else _constant(visible),
            _aux=aux,
            _uses_rng=uses_rng,
            **facts,
        )
        if in_place is not None:
            op = replace(op, in_place=replace(op, fn=in_place))
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
