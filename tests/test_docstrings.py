"""Examples in docstrings are run, and all public objects have docstrings."""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import executorkit
from tests import _architecture as architecture, _prose as prose

#: All but ``__main__``, which runs the command line when it is imported.
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(executorkit.__path__, "executorkit.")
    if not m.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


#: Modules, classes and functions that no user imports or gets objects of.
INNER = (
    "executorkit.arrays.pending",
    "executorkit.arrays.protocol",
    "executorkit.arrays.random_state.StreamPositions",
    "executorkit.arrays.random_state.next_key_data",
    "executorkit.arrays.random_state.wrap_key",
    "executorkit.arrays.storage",
    "executorkit.arrays.values",
    "executorkit.autograd._recorded_segment",
    "executorkit.autograd._run",
    "executorkit.autograd._tape",
    "executorkit.autograd.context_steps",
    "executorkit.calls",
    "executorkit.display",
    "executorkit.executor._backward.needs_head_gradients",
    "executorkit.executor._buffers",
    "executorkit.executor._executor_view",
    "executorkit.executor._pending_step",
    "executorkit.executor._precompile_spec",
    "executorkit.executor._snapshot",
    "executorkit.executor._update",
    "executorkit.executor._validation",
    "executorkit.executor.runnable",
    "executorkit.gluon._update_modes",
    "executorkit.gluon.contrib.estimator._metrics",
    "executorkit.gluon.model_zoo.vision._builder",
    "executorkit.gluon.trainer.restoring",
    "executorkit.jaxpr_interpreter",
    "executorkit.jaxprs",
    "executorkit.kvstore.aggregation",
    "executorkit.lowering._graph",
    "executorkit.lowering._infer",
    "executorkit.lowering._numbering",
    "executorkit.lowering._passes",
    "executorkit.lowering.reroll",
    "executorkit.lowering.staging",
    "executorkit.lowering.summary.cost_model",
    "executorkit.lowering.summary.layers.elements_of_shape",
    "executorkit.module._arguments",
    "executorkit.ndarray._ndarray.reads_records",
    "executorkit.ndarray.array_statistics",
    "executorkit.ndarray.comparison.as_ndarray",
    "executorkit.ndarray.params_file.load_contents",
    "executorkit.ndarray.params_file.load_record",
    "executorkit.ndarray.params_file.uint64_bytes",
    "executorkit.ops.custom.CustomKernel",
    "executorkit.ops.nn.recurrent_cells",
    "executorkit.optimizer._apply_rules",
    "executorkit.optimizer._descent.or_negative",
    "executorkit.optimizer._optax_updater",
    "executorkit.optimizer._rule.as_float32",
    "executorkit.optimizer._state_pickle",
    "executorkit.parallel",
    "executorkit.program._host_contents",
    "executorkit.program._activity",
    "executorkit.program._background_tasks",
    "executorkit.program._code_cache",
    "executorkit.program._compilation_log",
    "executorkit.program._compiled_function",
    "executorkit.program._deferred_errors",
    "executorkit.program._donation",
    "executorkit.program._first_calls",
    "executorkit.program._prepared_inference",
    "executorkit.program._train_step",
    "executorkit.program.disk_cache.cached_jit",
    "executorkit.program.disk_cache.directory",
    "executorkit.program.disk_cache.fingerprint",
    "executorkit.program.disk_cache.store",
    "executorkit.program.disk_cache.switch.active_disk_cache",
    "executorkit.program.disk_cache.switch.set_disk_cache",
    "executorkit.symbol.node",
    "executorkit.symbol.symbol_json",
    "executorkit.symbol.symbol_view",
)
#: Modules that users import; operators stand in the namespaces of symbols and arrays.
PUBLIC = [
    name
    for name in ["executorkit", *MODULES]
    if not any(part.startswith("_") for part in name.split("."))
    and not name.startswith(("executorkit.ops.", *INNER))
]
#: Methods that do what the protocol they belong to says.
OF_PROTOCOLS = {"html", "text"}


def public_names() -> Iterator[tuple[str, Any]]:
    """Every public class and function, and the classes' own and inherited methods, with names."""
    seen: set[Any] = set()
    for name in PUBLIC:
        module = importlib.import_module(name)
        names = getattr(module, "__all__", None)
        for key in names or [n for n in vars(module) if not n.startswith("_")]:
            value = getattr(module, key)
            origin = str(getattr(value, "__module__", ""))
            ours = origin.startswith("executorkit") and not f"{origin}.{key}".startswith(INNER)
            if not (ours and callable(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{name}.{key}", value
            if inspect.isclass(value):
                yield from methods(value, seen)


def methods(cls: type, seen: set[Any]) -> Iterator[tuple[str, Any]]:
    kinds = (property, functools.cached_property, staticmethod, classmethod)
    for base in cls.__mro__:
        owner = f"{base.__module__}.{base.__name__}"
        if not owner.startswith("executorkit") or owner.startswith(INNER):
            continue
        for key, value in vars(base).items():
            if key.startswith("_") or key in OF_PROTOCOLS or (base, key) in seen:
                continue
            seen.add((base, key))
            if inspect.isfunction(value):
                yield f"{base.__module__}.{base.__name__}.{key}", getattr(base, key)
            elif isinstance(value, kinds):
                yield f"{base.__module__}.{base.__name__}.{key}", value


def test_everything_public_says_what_it_is():
    objects = dict(public_names())
    assert len(objects) > 1000
    assert {"executorkit.Executor", "executorkit.metric.F1", "executorkit.cpu"} <= set(objects)
    assert [name for name, value in objects.items() if not inspect.getdoc(value)] == []


def test_a_missing_docstring_is_detected(monkeypatch):
    monkeypatch.setattr(executorkit.Executor, "silent", lambda self: None, raising=False)
    silent = [name for name, value in public_names() if not inspect.getdoc(value)]
    assert [name.rpartition(".")[2] for name in silent] == ["silent"]


@pytest.mark.parametrize("face", ["sym", "nd"])
def test_help_of_an_operator(face):
    """``help`` shows signature, equation, shapes, gradients, attributes, options."""
    operator = getattr(executorkit, face).Convolution
    signature = str(inspect.signature(operator))
    assert signature.startswith("(data=None, weight=None, bias=None, kernel: tuple[int, ...] = <re")
    text = inspect.getdoc(operator)
    assert text is not None
    for words in (
        "out[n, f, i] = bias[f] + sum_ck weight[f, c, k] data[n, c, i stride + k dilate - pad]",
        "weight (num_filter, C / num_group, kernel...)",
        "Gradients are ",
        "  no_bias: True or False, default False",
        "  workspace: an integer, default 1024, without effect",
        "become variables, such as ``<name>_weight``"
        if face == "sym"
        else "is written to, and ret",
    ):
        assert words in text
    method = inspect.getdoc(executorkit.Symbol.reshape)  # pyright: ignore[reportAttributeAccessIssue]
    assert method is not None
    assert method.startswith("``mx.sym.reshape`` of this symbol.\n\n")


def test_patterns_of_prose_only_become_fewer():
    bounds = json.loads(prose.COUNTS.read_text())
    more = [
        f"{package}: {number} {pattern}, at most {bounds.get(package, {}).get(pattern, 0)}"
        for package, numbers in prose.counts().items()
        for pattern, number in numbers.items()
        if number > bounds.get(package, {}).get(pattern, 0)
    ]
    assert not more, "\n".join([*more, "the places: python -m tests._prose PACKAGE"])


def test_patterns_of_prose_are_detected(tmp_path, monkeypatch):
    path = tmp_path / "executorkit" / "one.py"
    path.parent.mkdir()
    path.write_text(
        "def _size(x):\n"
        '    """The size of what is no array; that of others anew, by whoever asks."""\n'
        "    return x\n\n\n"
        "def size(x):\n"
        '    """Returns the size of an array."""\n'
        "    return x\n"
    )
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    places = [pattern for pattern, _ in prose.findings_of(architecture.Module(path))]
    assert sorted(places) == sorted([*prose.WORDS, "pronoun chains", prose.NO_VERB, prose.HELPERS])
