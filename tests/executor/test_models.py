"""Whole networks against MXNet: outputs, every gradient and every moving statistic."""

from __future__ import annotations

import os

import numpy as np
import pytest

import executorkit as mx
from tests._tools import golden as _golden
from tests.golden._store import condense_network
from tests.models import MODELS

pytestmark = pytest.mark.golden

#: Relative to the largest magnitude in an array: twenty layers of float32 sums in another order
#: differ by 1e-5 or so; in float64 MXNet still keeps BatchNorm's eps and momentum in float32.
RTOL = {"float32": 1e-4, "float64": 1e-6}


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize("name", MODELS)
def test_network_gives_the_results_of_mxnet(name):
    model = MODELS[name]
    stored = _golden.answers("models")
    with mx.program.options(prepare=False):
        executor = model.bind(mx, model.build(mx))
    outputs = executor.forward(is_train=model.train)
    results = {f"out{i}": o.asnumpy() for i, o in enumerate(outputs)}
    first = dict(results)
    if model.train:
        executor.backward()
        results |= {
            f"grad:{n}": g.asnumpy() for n, g in executor.grad_dict.items() if g is not None
        }
        results |= {f"aux:{n}": a.asnumpy() for n, a in executor.aux_dict.items()}
    else:
        executor = model.bind(mx, model.build(mx))
        results |= {f"out{i}": o.asnumpy() for i, o in enumerate(executor.forward())}
        assert executor.program.prepares == (
            0 if os.environ.get("EXECUTORKIT_PREPARE") == "0" else 1
        )
    facts = stored.facts[name]["arrays"]
    assert {n: [list(a.shape), a.dtype.name] for n, a in results.items()} == facts
    wrong, rtol = {}, model.rtol or RTOL[model.dtype]
    for n, array in (*results.items(), *first.items()):
        condensed = condense_network(n, array)
        problem = _golden.difference(condensed, stored[f"{name}|{n}"], rtol, 1e-2 * rtol)
        if problem:
            wrong[n] = problem
    assert wrong == {}


def test_every_array_of_every_network_is_stored_and_sane():
    stored = _golden.answers("models")
    assert set(stored.facts) == set(MODELS)
    for name, facts in stored.facts.items():
        for key in facts["arrays"]:
            assert np.isfinite(stored[f"{name}|{key}"]).all(), (name, key)
