"""Compares programs made by chance under the real MXNet 1.9.1 with the naive tape of the tests.

    python tests/golden/autograd_programs.py FIRST COUNT

Runs under MXNet's environment (see ``make.py``). Only statements are asked of which MXNet's result
is defined and is what the tape computes on purpose (``strict``). Programs that differ are
printed as short as they can be. MXNet ends the process at some programs; these are counted.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.autograd import random_programs as rp


def compare(first: int, stop: int) -> None:
    """Compares the programs of some seeds, a line for each."""
    import mxnet as mx

    for seed in range(first, stop):
        print("begin", seed, flush=True)
        program = rp.generate(seed, strict=True)
        if rp.check(program, mx, strict=True) is not None:
            print("differs", rp.report(program, mx, strict=True), flush=True)
        print("end", seed, flush=True)


def main(first: int, count: int) -> None:
    """Compares in a process of its own, and in another one after each crash."""
    stop, crashed, differing = first + count, [], 0
    while first < stop:
        command = [sys.executable, __file__, "compare", str(first), str(stop)]
        process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        begun = []
        for line in process.stdout.splitlines():
            if line.startswith("begin "):
                begun.append(int(line.split()[1]))
            elif not line.startswith("end "):
                differing += line.startswith("differs ")
                print(line)
        first = begun[-1] + 1
        if f"end {begun[-1]}" not in process.stdout:
            crashed.append(begun[-1])
    print(f"{count} programs: {differing} differ; MXNet crashed at {crashed}")


if __name__ == "__main__":
    if sys.argv[1] == "compare":
        compare(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
