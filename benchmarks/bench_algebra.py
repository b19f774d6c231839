"""Times of linear algebra beside MXNet's.

python -m benchmarks.bench_algebra
"""

from ._beside import main

if __name__ == "__main__":
    main("_algebra", __doc__)
