"""Stores what MXNet makes of the scripts in ``cases/_loops.py``: run it under MXNet 1.9.1.

python tests/golden/make_loops.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import _store


def main():
    import mxnet as mx
    from cases._loops import ARRAYS, LOOPS, head

    arrays, facts = {}, {}
    for name, function in LOOPS.items():
        mx.AttrScope._subgraph_names.clear()
        with mx.name.NameManager():
            symbol = function(mx)
        inputs = ARRAYS[name]
        fact = facts[name] = {
            "json": symbol.tojson(),
            "arguments": symbol.list_arguments(),
            "outputs": symbol.list_outputs(),
            "attributes": symbol.attr_dict(),
            "shapes": symbol.infer_shape_partial(**{n: a.shape for n, a in inputs.items()}),
            "known": symbol.infer_shape(**{n: a.shape for n, a in inputs.items()})[1] is not None,
        }
        args = {n: mx.nd.array(a) for n, a in inputs.items()}
        grads = {n: mx.nd.zeros(a.shape) for n, a in args.items()}
        results = {}
        try:
            exe = symbol.bind(mx.cpu(), args, args_grad=grads)
            outs = exe.forward(is_train=True)
            exe.backward([mx.nd.array(head(name, i, o.shape)) for i, o in enumerate(outs)])
            results.update({f"grad:{n}": g.asnumpy() for n, g in grads.items()})
        except mx.MXNetError as error:
            print(name, "has no gradient in MXNet:", str(error).splitlines()[0])
            outs = symbol.bind(mx.cpu(), args).forward()
        results.update({f"out{i}": o.asnumpy() for i, o in enumerate(outs)})
        fact["arrays"] = sorted(results)
        arrays.update({f"{name}|{n}": a for n, a in results.items()})
    path = _store.save("loops", arrays, facts)
    print(f"{len(facts)} loops, {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
