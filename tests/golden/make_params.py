"""Has the real MXNet 1.9.1 write ``.params`` files, and read the ones of older releases.

    python tests/golden/make_params.py

Runs under MXNet's environment (see ``make.py``), never under the project's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import params_contents as pc

DATA = Path(__file__).parent / "data"


def main() -> None:
    def nd(x: np.ndarray) -> mx.nd.NDArray:
        return mx.nd.array(x, dtype=x.dtype)

    for name, contents in pc.WRITTEN.items():
        arrays = (
            {k: nd(v) for k, v in contents.items()}
            if isinstance(contents, dict)
            else [nd(v) for v in contents]
        )
        mx.nd.save(str(DATA / f"{name}.params"), arrays)
    mx.nd.save(
        str(DATA / "contexts.params"), [mx.nd.ones(1, c) for c in (mx.cpu(1), mx.cpu_pinned())]
    )
    for version in (0, 1):
        path = DATA / f"v{version}.params"
        path.write_bytes(pc.legacy_file(version))
        read = mx.nd.load(str(path))
        for x, y in zip(read.values(), pc.legacy_contents(), strict=True):
            np.testing.assert_array_equal(x.asnumpy(), y)
    mx.npx.set_np()
    mx.npx.save(
        str(DATA / "np.params"), {k: mx.np.array(v, dtype=v.dtype) for k, v in pc.NP_SHAPES.items()}
    )
    print(sum(p.stat().st_size for p in DATA.glob("*.params")), "bytes")


if __name__ == "__main__":
    main()
