"""Lists what the tests check, a line each: ``python -m tests.facts`` counts, ``--list`` prints.

A fact is a golden case of an operator in one reading (compiled, interpreted, recorded, ...), or
any other test with its parameters. The lists of two commits show what one of them no longer checks.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

#: Tests that read many golden cases each, and are counted by case.
BATTERIES = (
    "tests/ops/test_golden.py::test_operators_give_what_mxnet_gives",
    "tests/autograd/test_operators.py::test_a_recorded_operator_gives_what_mxnet_and_an_executor_give",
    "tests/autograd/test_higher_order.py::test_second_order",
    "tests/ops/test_symbolic_sizes.py::test_operators_run_with_any_batch_size_of_one_program",
    "tests/ops/test_forward_mode.py::test_every_operator_can_be_traced_in_forward_mode",
)


def golden_facts() -> Iterator[str]:
    """Every golden case of an operator, in each of its readings."""
    import jax

    from tests._tools import golden as _golden
    from tests.autograd import test_higher_order, test_operators
    from tests.ops import test_forward_mode, test_golden, test_symbolic_sizes

    for family, case, dtype in _golden.questions():
        yield f"compiled: {family}/{case.key(dtype)}"
        if not case.eager and case.name not in test_golden.DYNAMIC:
            yield f"interpreted: {family}/{case.key(dtype)}"
    for family in _golden.families():
        for dtypes in ("main", "others"):
            for case, dtype in test_operators.differentiated(family, dtypes):
                yield f"recorded: {family}/{case.key(dtype)}"
                yield f"recorded as executed: {family}/{case.key(dtype)}"
        with jax.enable_x64(True):
            for case in _golden.cases(family):
                if test_symbolic_sizes._question(case):
                    yield f"symbolic size: {family}/{case.name}"
    for family, cases in test_higher_order.CASES.items():
        yield from (f"second order: {family}/{case.name}" for case in cases)
    yield from (f"forward mode: {name}" for name in test_forward_mode.CASES)


def other_tests() -> Iterator[str]:
    """All other tests, slow ones included, as pytest names them."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "--collect-only", "-m", ""]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        if "::" in line and line.partition("[")[0] not in BATTERIES:
            yield f"test: {line}"


def main() -> None:
    facts = [*golden_facts(), *other_tests()]
    if "--list" in sys.argv[1:]:
        print(*sorted(facts), sep="\n")
    else:
        for reading, count in Counter(fact.partition(":")[0] for fact in facts).items():
            print(f"{count:6} {reading}")
        print(f"{len(facts):6} facts")


if __name__ == "__main__":
    main()
