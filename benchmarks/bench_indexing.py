"""How long do operators that look up, order and mask take beside MXNet?

python -m benchmarks.bench_indexing
"""

from ._beside import main

if __name__ == "__main__":
    main("_indexing", __doc__)
