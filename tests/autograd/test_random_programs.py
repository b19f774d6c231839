"""Programs made by chance see the same as a naive tape that computes each call at once.

``python -m tests.autograd.random_programs FIRST COUNT`` compares as many more as one likes.
"""

from __future__ import annotations

import numpy as np
import pytest

from . import random_programs
from .naive_tape import OPERATORS, Leaf, Tape, Value
from .program_language import Program, Statement, source

_X = np.sin(np.arange(6.0)).reshape(2, 3) + 0.3
_Y = np.cos(np.arange(6.0)).reshape(2, 3)

#: Attributes and inputs of each operator of the tape.
CASES = {
    "add": ({}, [_X, _Y[:1]]), "subtract": ({}, [_X[:, :1], _Y]), "multiply": ({}, [_X, _Y[:1]]),
    "dot": ({}, [_X, _Y.T]), "scale": ({"by": -1.5}, [_X]), "shift": ({"by": 2}, [_X]),
    "tanh": ({}, [_X]), "sigmoid": ({}, [_X]), "sin": ({}, [_X]), "cos": ({}, [_X]),
    "square": ({}, [_X]), "copy": ({}, [_X]), "softmax": ({}, [_X]), "sum": ({"axis": 1}, [_X]),
    "transpose": ({}, [_X]), "reshape": ({"shape": (3, 2)}, [_X]),
    "broadcast_to": ({"shape": (2, 2, 3)}, [_X[:1]]), "sum_to": ({"shape": (1, 3)}, [_X]),
    "index": ({"index": [1, 0, 1]}, [_X]), "put": ({"index": [1, 0, 1], "shape": (2, 2)}, [_X.T]),
    "concat": ({"axis": 0}, [_X, _Y[:1]]), "split": ({"parts": 3, "axis": 1}, [_X]),
    "batch_norm": ({"eps": 0.1}, [_X, _Y[0], _Y[1]]),
}  # fmt: skip


def _differentiated(tape: Tape, op: str, attrs, arrays, create: bool = False):
    """Marked arrays, the weighted sum of an operator's outputs, and their gradients."""
    leaves = [Leaf(a.shape, "write") for a in arrays]
    inputs = [Value(a, leaf) for a, leaf in zip(arrays, leaves, strict=True)]
    outputs = tape.call(op, attrs, inputs, True)
    weights = [Value(np.cos(np.arange(o.numbers.size)).reshape(o.numbers.shape)) for o in outputs]
    total = sum(float((o.numbers * w.numbers).sum()) for o, w in zip(outputs, weights, strict=True))
    gradients = tape.gradients(outputs, weights, create)
    return leaves, total, [gradients[id(leaf)] for leaf in leaves]


def _numeric(function, arrays):
    """Central differences of a function of arrays."""
    gradients = []
    for k, a in enumerate(arrays):
        gradient = np.zeros_like(a)
        for i in np.ndindex(*a.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [b.copy() for b in arrays]
                moved[k][i] += step
                ends.append(function(moved))
            gradient[i] = (ends[0] - ends[1]) / 2e-5
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("op", CASES)
def test_gradients_of_the_tape_are_differences(op):
    attrs, arrays = CASES[op]
    _, _, gradients = _differentiated(Tape(), op, attrs, arrays)
    numeric = _numeric(lambda moved: _differentiated(Tape(), op, attrs, moved)[1], arrays)
    for ours, expected in zip(gradients, numeric, strict=True):
        np.testing.assert_allclose(ours.numbers, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("op", [op for op in CASES if op != "batch_norm"])
def test_second_gradients_of_the_tape_are_differences(op):
    attrs, arrays = CASES[op]

    def squared(moved, tape):
        leaves, _, gradients = _differentiated(tape, op, attrs, moved, create=True)
        return leaves, gradients, sum(float((g.numbers**2).sum()) for g in gradients)

    tape = Tape()
    leaves, gradients, _ = squared(arrays, tape)
    heads = [g for g in gradients if g.origin is not None]
    results = tape.gradients(heads, [Value(2 * g.numbers) for g in heads])
    numeric = _numeric(lambda moved: squared(moved, Tape())[2], arrays)
    for leaf, expected in zip(leaves, numeric, strict=True):
        ours = results[id(leaf)].numbers if id(leaf) in results else np.zeros_like(expected)
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-7)


def test_every_operator_of_the_tape_has_a_case():
    assert {*CASES} == {*OPERATORS} - {"block"}


def test_programs_are_those_of_their_seeds():
    first, second = random_programs.generate(3), random_programs.generate(3)
    assert first == second
    assert source(first) == source(second) != source(random_programs.generate(4))


def test_programs_differentiate_read_and_refuse():
    kinds, outcomes = set(), set()
    for seed in range(40):
        program = random_programs.generate(seed)
        stack = list(program.statements)
        while stack:
            s = stack.pop()
            kinds.add(s.kind)
            stack += s.body
        outcomes |= {o for _, o in random_programs.run_naive(program) if isinstance(o, str)}
    assert {"backward", "grad", "read", "record", "loop", "pause", "update", "thread"} <= kinds
    assert outcomes == {"MXNetError", "unbound"}


def test_failing_programs_are_made_short():
    statements = (
        Statement(1, "leaf", ("a", (2,), "write")),
        Statement(2, "loop", (3,), (Statement(3, "record", (), (
            Statement(4, "call", ("sin", ("a",), ("b",), False)),
            Statement(5, "call", ("times", ("a",), ("c",), False)),
        )),)),
        Statement(6, "backward", (("b", "c"), (None, "a"), False)),
    )  # fmt: skip
    short = random_programs.shrink(Program(0, statements), lambda p: "times" in str(p))
    assert source(short) == "c = a * -1.5"
    assert source(Program(0, statements)).splitlines() == [
        "a = nd.array(feed(1, (2,))); a.attach_grad('write')",
        "for _ in range(3):",
        "    with ag.record():",
        "        b = nd.sin(a)",
        "        c = a * -1.5",
        "ag.backward([b, c], [None, a])",
    ]
