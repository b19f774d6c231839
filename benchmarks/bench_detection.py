"""Times of operators that loop beside MXNet's: suppression, proposals, matching, CTC.

python -m benchmarks.bench_detection
"""

from ._beside import main

if __name__ == "__main__":
    main("_detection", __doc__)
