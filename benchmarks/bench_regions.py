"""Times of operators that read images at computed places beside MXNet's.

python -m benchmarks.bench_regions
"""

from ._beside import main

if __name__ == "__main__":
    main("_regions", __doc__)
