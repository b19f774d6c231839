"""How long does linear algebra take beside MXNet?

python -m benchmarks.bench_algebra
"""

from ._beside import main

if __name__ == "__main__":
    main("_algebra", __doc__)
