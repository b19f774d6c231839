"""Times of operators that look up, order and mask beside MXNet's.

python -m benchmarks.bench_indexing
"""

from ._beside import main

if __name__ == "__main__":
    main("_indexing", __doc__)
