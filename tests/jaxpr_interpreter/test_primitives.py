"""Single primitives at their edges: the interpreter's results against XLA's.

All questions of a theme are one program, so that a theme costs one compilation.
"""

from __future__ import annotations

import gc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive

from executorkit.jaxpr_interpreter import plan
from executorkit.jaxpr_interpreter._rules import RULES
from tests.jaxpr_interpreter._questions import THEMES, questions_of


def difference(ours: Any, theirs: Any, rtol: float, by_element: bool) -> str | None:
    """The fault of ``ours``, or None; errors are relative to each element, or to the largest.

    XLA flushes the smallest numbers to zero, NumPy does not.
    """
    theirs = np.asarray(theirs)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{ours.shape}, XLA {theirs.dtype}{theirs.shape}"
    if not ours.flags.c_contiguous:
        return "not contiguous"
    if ours.dtype.kind == "b":
        ours, theirs = ours.astype(np.int8), theirs.astype(np.int8)
    tiny = 0.0 if ours.dtype.kind in "iu" else float(jnp.finfo(ours.dtype).tiny)
    if ours.dtype.kind not in "iuc":
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(theirs), np.abs(theirs), 0)
        allowed = rtol * (size if by_element else size.max(initial=0)) + tiny
        near = (ours == theirs) | (np.abs(ours - theirs) <= allowed)
    near |= np.isnan(ours) & np.isnan(theirs)
    if near.all():
        return None
    return f"{ours[~near][:6]}, XLA {theirs[~near][:6]} at {np.flatnonzero(~near)[:6]}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("theme", THEMES)
def test_results_are_those_of_xla(theme):
    questions = questions_of(theme)
    names = [q.name for q in questions]
    assert len(set(names)) == len(names)
    arguments = [q.args for q in questions]

    def program(arguments: Any) -> Any:
        return [q.function(*args) for q, args in zip(questions, arguments, strict=True)]

    with jax.enable_x64(True):
        theirs = jax.jit(program)(arguments)
        problems = []
        for question, answer in zip(questions, theirs, strict=True):
            closed_jaxpr = jax.make_jaxpr(question.function)(*question.args)
            planned = plan(closed_jaxpr)
            if planned.uncovered:
                problems.append(f"{question.name}: uncovered {planned.uncovered}")
                continue
            copies = [np.array(x) for x in question.args]
            ours = planned.run(copies)
            by_element = theme == "floats"
            for x, y in zip(ours, jax.tree.leaves(answer), strict=True):
                fault = difference(x, y, question.rtol, by_element)
                if fault:
                    problems.append(f"{question.name}: {fault}")
            for x, before in zip(copies, question.args, strict=True):
                if x.tobytes() != np.asarray(before).tobytes():
                    problems.append(f"{question.name}: an argument changed")
    assert not problems, "\n".join(problems)


def test_rules_name_primitives_of_jax():
    gc.unfreeze()  # what is frozen is not listed
    names = {x.name for x in gc.get_objects() if isinstance(x, Primitive)}
    gc.freeze()
    assert RULES.keys() <= names


def test_a_reshape_of_turned_axes_is_none_of_its_input():
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    steps = plan(jax.make_jaxpr(lambda x: lax.reshape(x, (3, 3), dimensions=(1, 0)))(x))
    np.testing.assert_array_equal(steps.run([x])[0], x.T)
