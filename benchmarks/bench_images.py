"""Times of operators that resample images or cut them up beside MXNet's.

python -m benchmarks.bench_images
"""

from ._beside import main

if __name__ == "__main__":
    main("_images", __doc__)
