"""How long do operators that read images at computed places take beside MXNet?

python -m benchmarks.bench_regions
"""

from ._beside import main

if __name__ == "__main__":
    main("_regions", __doc__)
