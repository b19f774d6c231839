"""Cost of a step of an executor beside the hand-written one: LeNet.

python -m benchmarks.bench_lenet
"""

from ._measure import main

if __name__ == "__main__":
    main("lenet", __doc__, batch=32, pairs=40)
