"""Times of the updates of parameters beside MXNet's.

python -m benchmarks.bench_updates
"""

from ._beside import main

if __name__ == "__main__":
    main("_updates", __doc__)
