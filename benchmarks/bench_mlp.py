"""Cost of a step of an executor beside the hand-written one: multi-layer perceptron.

python -m benchmarks.bench_mlp
"""

from ._measure import main

if __name__ == "__main__":
    main("mlp", __doc__, batch=64, pairs=200)
