"""The gradients of recorded calls as an operator, which is recorded and differentiated again."""

from __future__ import annotations

from dataclasses import replace

from .._support.annotations import Arrays, Operands, Raw
from ..calls.resolved_calls import ResolvedCall
from ..ops import OpDef, lookup
from ._trace import CallTrace
from ._trace_plan import TracePlan, reached


def gradient_call(trace: CallTrace, plan: TracePlan, heads: tuple[int, ...]) -> ResolvedCall:
    """Returns the call that computes the gradients of the leaves that ``heads`` reach.

    Its inputs are the plan's arguments and auxiliary states, the rows of key data where it draws
    random numbers, and the head gradients.
    """
    key = "gradient", plan.outputs, heads
    return trace.pattern.known(key, lambda: _gradient_call(trace, plan, heads))


def _gradient_call(trace: CallTrace, plan: TracePlan, heads: tuple[int, ...]) -> ResolvedCall:
    function = plan.program.gradient_function(True)
    n_args, n_states = len(plan.sources), len(plan.state_sources)
    places = [heads.index(n) if n in heads else None for n in plan.outputs]
    leaves = reached(trace, heads).leaves
    chosen = [plan.leaves.index(i) for i in leaves]

    def fn(*arrays: Raw) -> Operands:
        args, states = arrays[:n_args], arrays[n_args : n_args + n_states]
        rest: Arrays = arrays[n_args + n_states :]
        key = None
        if plan.key_rows:
            key, *rest = rest
        cotangents = tuple([None if i is None else rest[i] for i in places])
        *_, grads = function(args, states, key, cotangents)
        return tuple([grads[i] for i in chosen])

    n_inputs = n_args + n_states + bool(plan.key_rows) + len(heads)
    inputs = tuple([f"arg{i}" for i in range(n_inputs)])
    outputs = tuple([f"output{i}" for i in range(len(chosen))])
    sum_of_arrays = lookup("add_n")
    assert sum_of_arrays is not None
    op: OpDef = replace(
        sum_of_arrays,
        name="_gradient",
        names=("_gradient",),
        fn=fn,
        count=None,
        attrs={},
        infer_shape=None,
        output_shapes=None,
        infer_type=lambda facts, params: None,
        layout_rule=None,
        kind=None,
        _inputs=lambda p: inputs,
        _outputs=lambda p: outputs,
    )
    return ResolvedCall(op, (), ())
