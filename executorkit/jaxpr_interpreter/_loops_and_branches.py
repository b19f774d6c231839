"""Branches and loops: plans that Python calls."""

import numpy as np

from .._support.annotations import Arrays, Raw
from ._plan import NestedKernel
from ._planner import plan
from ._rules import Call, rule

#: Number of iterations that a ``while`` is assumed to take.
ASSUMED_ITERATIONS = 16


class Cond(NestedKernel):
    def __init__(self, call: Call) -> None:
        self.plans = [plan(branch) for branch in call.params["branches"]]
        self.estimate = max([p.estimate for p in self.plans])

    def __call__(self, *operands: np.ndarray) -> Raw:
        index = min(max(int(operands[0]), 0), len(self.plans) - 1)
        return self.plans[index].evaluate(operands[1:])


class While(NestedKernel):
    """``lax.while_loop``; a condition with axes, mapped by ``vmap``, keeps finished carries."""

    def __init__(self, call: Call) -> None:
        params = call.params
        self._cond, self._body = plan(params["cond_jaxpr"]), plan(params["body_jaxpr"])
        self._batched = bool(self._cond.results[0].aval.shape)
        self.plans = self._cond, self._body
        self._cond_consts = params["cond_nconsts"]
        self._consts = params["cond_nconsts"] + params["body_nconsts"]
        self.estimate = (self._cond.estimate + self._body.estimate) * ASSUMED_ITERATIONS

    def __call__(self, *operands: np.ndarray) -> Raw:
        cond_consts = operands[: self._cond_consts]
        body_consts = operands[self._cond_consts : self._consts]
        carry: Arrays = operands[self._consts :]
        cond, body = self._cond.evaluate, self._body.evaluate
        if self._batched:
            return self._run_batched(cond_consts, body_consts, carry)
        while cond([*cond_consts, *carry])[0]:
            carry = body([*body_consts, *carry])
        return carry

    def _run_batched(self, cond_consts: Arrays, body_consts: Arrays, carry: Arrays) -> Raw:
        while (goes_on := self._cond.evaluate([*cond_consts, *carry])[0]).any():
            carry = [
                np.where(goes_on.reshape(goes_on.shape + (1,) * (x.ndim - goes_on.ndim)), x, old)
                for x, old in zip(self._body.evaluate([*body_consts, *carry]), carry, strict=True)
            ]
        return carry


class Scan(NestedKernel):
    def __init__(self, call: Call) -> None:
        params = call.params
        self._body = plan(params["jaxpr"])
        self.plans = (self._body,)
        self._consts = params["num_consts"]
        self._carries = params["num_carry"]
        self._length = params["length"]
        self._reverse = params["reverse"]
        self._stacked = [(x.shape, x.dtype) for x in call.outs[self._carries :]]
        self.estimate = (self._body.estimate + 1e-6) * self._length

    def __call__(self, *operands: np.ndarray) -> Raw:
        first = self._consts + self._carries
        consts, carry = operands[: self._consts], list(operands[self._consts : first])
        slices = operands[first:]
        stacks = [np.empty(shape, dtype) for shape, dtype in self._stacked]
        body, carries = self._body.evaluate, self._carries
        steps = range(self._length)
        for i in reversed(steps) if self._reverse else steps:
            results = body([*consts, *carry, *[x[i] for x in slices]])
            carry = results[:carries]
            for stack, x in zip(stacks, results[carries:], strict=True):
                stack[i] = x
        return [*carry, *stacks]


rule("cond")(Cond)
rule("while")(While)
rule("scan")(Scan)
