"""Cost of a step of an executor beside the hand-written one: an unrolled LSTM.

python -m benchmarks.bench_lstm
"""

from ._measure import main

if __name__ == "__main__":
    main("lstm", __doc__, batch=32, size=35, pairs=10)
