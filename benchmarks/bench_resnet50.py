"""Cost of a step of an executor beside the hand-written one: ResNet-50.

python -m benchmarks.bench_resnet50 [--batch 4] [--size 224]
"""

from ._measure import main

if __name__ == "__main__":
    main("resnet50", __doc__, batch=4, size=224, pairs=5)
