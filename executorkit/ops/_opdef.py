"""An operator as the graph sees it: a function, its attributes, and the facts about its arrays.

No jax in here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import AttributeValueError, did_you_mean, explain
from ._attrs import Attr, to_text
from ._facts import Params
from ._layouts import LayoutRule
from ._rules import InferShape, InferType


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
    ignore_unknown: bool
    aux: tuple[str, ...]
    key_name: str | None
    train_name: str | None
    infer_shape: InferShape | None
    types: InferType
    loss: Callable[[Params], bool]
    constant_inputs: Callable[[Params], Mapping[str, float]]
    shape_attr: str | None
    effects: bool
    mutates: bool
    dynamic_shape: bool
    inner_states: bool
    last: LayoutRule | None
    _inputs: Callable[[Params], tuple[str, ...]] | None
    _outputs: Callable[[Params], tuple[str, ...]]
    _visible: Callable[[Params], int] | None
    _aux: Callable[[Params], tuple[str, ...]] | None
    _uses_rng: Callable[[Params, bool], bool] | None
    in_place: OpDef | None = None

    @property
    def doc(self) -> str:
        """The docstring of the function, without its indentation."""
        return inspect.cleandoc(self.fn.__doc__ or "")

    def parse(self, texts: Mapping[str, Any]) -> Params:
        """The parsed attributes of a node; values may be texts or Python values.

        Raises :class:`AttributeValueError` for an unknown, missing or malformed attribute. As in
        MXNet, operators without attributes, and lenient ones, take any, and ignore them.
        """
        values: dict[str, Any] = {}
        for name, value in texts.items():
            attr = self.attrs.get(name)
            if attr is None:
                if self.ignore_unknown:
                    continue
                if not self.open_attrs:
                    raise AttributeValueError(
                        explain(
                            f"operator {self.name}",
                            f"unknown attribute {name!r} (value {to_text(value)!r})",
                            hint=did_you_mean(name, self.attrs),
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

    def uses_rng(self, p: Params, train: bool) -> bool:
        """Whether a run in this mode draws random numbers, so that it needs a PRNG key."""
        return self.key_name is not None and (self._uses_rng is None or self._uses_rng(p, train))

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
        self,
        p: Params,
        arrays: Iterable[Any],
        *,
        key: Any = None,
        train: bool = False,
        function: Callable[..., Any] | None = None,
    ) -> tuple[Any, ...]:
        """Runs the function (or one that stands in for it) on arrays given in the order of
        ``inputs(p)``.

        Returns outputs, then new auxiliary states, as a flat tuple.
        """
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
