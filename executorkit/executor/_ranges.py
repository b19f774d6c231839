"""The ranges of a graph's values and gradients, and where what is not finite comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ..lowering import Graph
from ..lowering._graph import GraphStep
from ._nodewise import NodewiseValues, range_of_input
from ._report import ArraySummary, Finding


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """What a forward read, and the head gradients of the backward after it (None: not known)."""

    args: tuple[Any, ...]
    aux: tuple[Any, ...]
    key: Any
    train: bool
    heads: Sequence[Any] | None
    #: Whether the parameters are those after an update that was a part of the program.
    updated: bool = False


class FiniteAnalysis:
    """Reads the ranges of one run, and finds where what is not finite comes from."""

    def __init__(self, graph: Graph, heads: Sequence[Any]) -> None:
        self.graph = graph
        self.names: dict[int, str] = {i: node.name for node, i in graph.variables}
        for step in graph.steps:
            for k, name in enumerate(step.node.output_names):
                self.names[step.first_output + k] = name
        self._given_heads = {k: range_of_input(h) for k, h in enumerate(heads) if h is not None}
        self.heads: dict[int, Any] = {}
        self.ranges: list[Any] = []
        self.back: dict[int, Any] = {}
        self.sums: dict[int, Any] = {}
        self.parts: dict[int, list[Any]] = {}

    def read(self, traced: NodewiseValues) -> bool:
        """Brings what is known so far to the host; returns whether all of it is finite."""
        self.avals = traced.avals
        self.ranges, self.back, self.sums, self.heads = jax.device_get(
            (traced.ranges, traced.input_gradients, traced.sums, self._given_heads)
        )
        self.parts = {}
        for step in self.graph.steps:
            for k, gradient in self.back.get(step.index, ({}, {}))[0].items():
                self.parts.setdefault(step.inputs[k], []).append(gradient)
        return not any(map(_is_nonfinite, (*self.ranges, *self.heads.values())))

    @property
    def checked(self) -> int:
        """How many arrays were looked at."""
        known = sum(r is not None for r in self.ranges)
        return known + sum(len(found) for found, _ in self.back.values())

    @property
    def outputs(self) -> list[str]:
        """Names of outputs that are not finite."""
        names = zip(self.graph.output_names, self.graph.heads, strict=True)
        return [name for name, i in names if _is_nonfinite(self.ranges[i])]

    def is_bad_gradient(self, i: int) -> bool:
        """Whether the gradient of an argument is not finite."""
        value = self.graph.arg_values[i]
        return _is_nonfinite(self.sums.get(value)) or self._is_from_bad(value)

    def _is_from_bad(self, value: int) -> bool:
        """Whether one of the gradients that are added up for a value is not finite."""
        return any(_is_nonfinite(r) for r in self.parts.get(value, ()))

    def _described(self, name: str, value: int, found: Any) -> ArraySummary:
        aval = self.avals[value]
        nans, infs, low, high = (float(x) for x in found)
        return ArraySummary(name, aval.shape, aval.dtype.name, int(nans), int(infs), low, high)

    def findings(self) -> Iterator[Finding]:
        """What was given, forward in topological order, backward in the reverse."""
        yield from self._given()
        for step in self.graph.steps:
            if any(_is_nonfinite(self.ranges[i]) for i in step.inputs):
                continue
            for i in range(step.first_output, step.first_output + step.n_outputs):
                if _is_nonfinite(self.ranges[i]):
                    made = self._described(repr(self.names[i]), i, self.ranges[i])
                    inputs = tuple(self._inputs(step))
                    yield self._at(step, "forward", made, inputs)
                    break
        yield from self._backward()

    @staticmethod
    def _at(
        step: GraphStep, stage: str, made: ArraySummary, inputs: tuple[ArraySummary, ...] = ()
    ) -> Finding:
        position = step.index if stage == "forward" else -step.index
        return Finding(stage, step.node.name, step.op.name, made, inputs, position=position)

    def _given(self) -> Iterator[Finding]:
        kinds = (("argument", self.graph.args, self.graph.arg_values),
                 ("auxiliary state", self.graph.aux, self.graph.aux_values))  # fmt: skip
        for kind, nodes, values in kinds:
            for node, i in zip(nodes, values, strict=True):
                if _is_nonfinite(self.ranges[i]):
                    made = self._described(f"{kind} {node.name!r}", i, self.ranges[i])
                    yield Finding("given", node.name, "", made, position=i)
        for k, found in self.heads.items():
            if _is_nonfinite(found):
                name = self.graph.output_names[k]
                i = self.graph.heads[k]
                made = self._described(f"head gradient of {name!r}", i, found)
                yield Finding("given", name, "", made, position=self.graph.n_values)

    def _inputs(self, step: GraphStep) -> Iterator[ArraySummary]:
        for name, i in zip(step.names, step.inputs, strict=True):
            yield self._described(_input_label(name, self.names[i]), i, self.ranges[i])

    def _backward(self) -> Iterator[Finding]:
        bad_values = {i for i, r in enumerate(self.ranges) if _is_nonfinite(r)}
        summed = {i for i, r in self.sums.items() if _is_nonfinite(r)}
        for step in reversed(self.graph.steps):
            found, came = self.back.get(step.index, ({}, {}))
            outputs = range(step.first_output, step.first_output + step.n_outputs)
            if bad_values.intersection((*step.inputs, *outputs)):
                continue
            if any(_is_nonfinite(r) for r in came.values()):
                yield from self._sum(step, came, summed)
                continue
            for k, gradient in found.items():
                if _is_nonfinite(gradient):
                    name = f"the gradient of input {step.names[k]!r}"
                    made = self._described(name, step.inputs[k], gradient)
                    arrived = (
                        self._described(
                            f"gradient of {self.names[outputs[j]]}", outputs[j], came[j]
                        )
                        for j in came
                    )
                    inputs = (*self._inputs(step), *arrived)
                    yield self._at(step, "backward", made, inputs)
                    break
        for node, i in zip(self.graph.args, self.graph.arg_values, strict=True):
            yield from self._own_sum(node.name, i)

    def _sum(self, step: GraphStep, came: Mapping[int, Any], summed: set[int]) -> Iterator[Finding]:
        """A sum that overflowed: of finite gradients of one value, which several nodes read."""
        for k, gradient in came.items():
            i = step.first_output + k
            if i in summed and _is_nonfinite(gradient) and not self._is_from_bad(i):
                name = f"the sum of the gradients of {self.names[i]!r}"
                made = self._described(name, i, gradient)
                yield self._at(step, "backward", made)

    def _own_sum(self, name: str, i: int) -> Iterator[Finding]:
        if _is_nonfinite(self.sums.get(i)) and not self._is_from_bad(i):
            made = self._described(f"the sum of the gradients of {name!r}", i, self.sums[i])
            yield Finding("backward", name, "", made)


def _input_label(name: str, source: str) -> str:
    return name if source.endswith(f"_{name}") or source == name else f"{name}: {source}"


def _is_nonfinite(found: Any) -> bool:
    return found is not None and bool(found[0] + found[1])
