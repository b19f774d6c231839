"""The structure of the package, where no linter looks: see ``tests/_architecture.py``."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator

import pytest

from executorkit import ops
from tests import _architecture as architecture

pytestmark = pytest.mark.smoke

#: Import paths of MXNet that occur in several of its packages, and what a package must be called.
FILE_NAMES = frozenset(
    {
        "_internal.py",
        "base.py",
        "basic_layers.py",
        "callback.py",
        "contrib.py",
        "conv_layers.py",
        "image.py",
        "io.py",
        "linalg.py",
        "ndarray.py",
        "op.py",
        "operator.py",
        "optimizer.py",
        "random.py",
        "rnn.py",
        "rnn_cell.py",
        "rnn_layer.py",
        "sampler.py",
        "sparse.py",
        "symbol.py",
        "utils.py",
    }
)
#: MXNet's own pairs of names.
CLASS_NAMES = frozenset({
    "BidirectionalCell", "Block", "Constant", "DataParallelExecutorGroup", "DropoutCell",
    "FactorScheduler", "GRUCell", "LSTMCell", "Loss", "ModifierCell", "RNNCell", "ResidualCell",
    "SequentialRNNCell", "Vocabulary", "ZoneoutCell",
})  # fmt: skip
#: Classes of MXNet with one subclass of MXNet's.
PUBLIC_BASES = frozenset({
    "BatchNorm", "CIFAR10", "HybridSequential", "ImageIter", "LearningRateScheduler", "MNIST",
    "RandomOrderAug", "RecordFileDataset", "Sequential", "Xavier",
})  # fmt: skip
#: Tables that are presentation: MXNet's colours and labels of operators in ``plot_network``.
OPERATOR_TABLES = frozenset({"executorkit.visualization._plot_network"})
#: The comparison with golden answers calls operators as the imperative namespace does; the
#: README's commands are the command line's.
NO_MIRROR = frozenset({"golden", "readme"})
#: Maximum lines of each package. A package that shrinks takes its budget with it; one that has to
#: grow says here by how much.
LINE_BUDGETS = {
    "_cli": 1349, "_files": 449, "_support": 983, "arrays": 1014, "autograd": 3688, "callback":
    172, "calls": 1283, "contrib": 2381, "data": 51, "debugging": 631, "display": 1912,
    "executor": 3126, "executorkit": 3934, "export": 717, "gluon": 12325, "image": 2098,
    "initializer": 668, "inspection": 663, "io": 2928, "jaxpr_interpreter": 3302, "jaxprs": 677,
    "kvstore": 784, "lowering": 4791, "metric": 1325, "model": 1059, "module": 3098, "ndarray":
    3024, "notebook": 299, "numpy": 2062, "numpy_extension": 127, "onnx": 4457, "ops": 19011,
    "optimizer": 3333, "parallel": 3933, "processes": 979, "profiler": 878, "program": 6749,
    "rnn": 1250, "symbol": 2912, "test_utils": 1486, "training": 943, "visualization": 450,
}  # fmt: skip
#: Maximum lines of all packages together; it only falls.
TOTAL_LINES = 107_301
#: Maximum number of attributes of a class.
MAX_ATTRIBUTES = 20
ARGUMENTS = {
    "private_imports_of_tests": (NO_MIRROR,),
    "repeated_file_names": (FILE_NAMES,),
    "repeated_class_names": (CLASS_NAMES,),
    "lonely_bases": (PUBLIC_BASES,),
}


def test_the_total_of_lines_only_falls():
    assert sum(architecture.package_lines().values()) <= TOTAL_LINES
    assert sum(LINE_BUDGETS.values()) <= TOTAL_LINES


def test_classes_have_few_attributes():
    large = {
        name.removeprefix("executorkit.")
        for name, attributes in architecture.attributes_of_classes().items()
        if len(attributes) > MAX_ATTRIBUTES
    }
    assert not large


def test_packages_keep_their_budgets_of_lines():
    findings = architecture.beyond_budgets(LINE_BUDGETS)
    assert not findings, "\n".join(findings)


def test_budgets_that_do_not_fit_are_detected():
    lines = architecture.package_lines()
    assert architecture.beyond_budgets(lines) == []
    (more,) = architecture.beyond_budgets({**lines, "ops": lines["ops"] - 1})
    assert more.endswith("make it smaller elsewhere")
    (less,) = architecture.beyond_budgets({**lines, "ops": lines["ops"] + 100})
    assert less.endswith("should fall to that")
    (gone,) = architecture.beyond_budgets({**lines, "nowhere": 3})
    assert "it is gone" in gone
    del lines["io"]
    (new,) = architecture.beyond_budgets(lines)
    assert new.endswith("no budget")


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """No garbage is collected beside a million nodes of syntax trees, which go with the last
    test: a collection takes ten times as long."""
    gc.disable()
    yield
    gc.enable()
    architecture.modules.cache_clear()


@pytest.mark.parametrize("rule", list(architecture.RULES))
def test_rule_holds(rule):
    findings = architecture.RULES[rule](*ARGUMENTS.get(rule, ()))
    assert not findings, "\n".join(map(str, findings))


def test_there_are_at_most_forty_exception_classes():
    errors = architecture.modules()["executorkit.errors"]
    assert sum(isinstance(node, ast.ClassDef) for node in errors.tree.body) <= 40


def test_no_list_of_operators_stands_outside_ops():
    """A fact about operators is a trait of their definitions, so that a user's operator has it."""
    names = {name for name in ops.all_names() if not name.islower()}
    lists = []
    for module in architecture.modules().values():
        if module.package == "ops" or module.name in OPERATOR_TABLES:
            continue
        for node in module.nodes:
            if not isinstance(node, ast.Set | ast.Tuple | ast.List | ast.Dict):
                continue
            elements = node.keys if isinstance(node, ast.Dict) else node.elts
            words = {str(e.value) for e in elements if isinstance(e, ast.Constant)}
            if len(words & names) > 1:
                lists.append(str(module.finding(node, f"lists {sorted(words & names)}")))
    assert not lists, "\n".join(lists)


BAD = """
import optax
from executorkit.other._private import thing
from jax._src import core

class Base:
    "What it is."

class Derived(Base):
    pass

class OwnError(ValueError):
    pass

def many(a, b, c, d, e, f, g):
    many(1, 2, 3, 4, 5, 6, 7)

def work(other):
    "How it works."
    found = other._secret
    other._clear_cache(other.eqns)
    jax.jit(found)
    jax.jit(found, inline=True)
    other._secret = 1
    #: So many at once.
    return hasattr(found, "_fulfil")
"""
OTHER = """
class Derived:
    def __init__(self):
        self._secret = 0
"""
#: A test that depends on the machine, and one marked by its name.
TEST = """
import time
from time import sleep

def test_it_is_quick():
    assert time.perf_counter() < 5
"""
CONFTEST = 'SMOKE = ("one/test_quick.py", "processes.py", "data.csv")'
#: How often each rule must be broken by these files.
EXPECTED = {
    "private_imports": 1,
    "private_imports_of_tests": 0,
    "clocks_of_tests": 2,
    "names_of_test_files": 2,
    "private_reads": 2,
    "outside_assignments": 1,
    "recognised_by_attribute": 1,
    "private_jax": 2,
    "optax_imports": 1,
    "bare_jits": 1,
    "equations_of_jaxprs": 1,
    "clause_openings": 2,
    "vague_phrases": 2,
    "vague_locals": 1,
    "exceptions_outside_errors": 1,
    "positional_calls": 1,
    "repeated_class_names": 2,
    "repeated_file_names": 2,
    "lonely_bases": 1,
    "import_circles": 0,
    "file_sizes": 0,
}


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A package that breaks the rules."""
    for folder, text in (("one", BAD), ("other", OTHER)):
        path = tmp_path / "executorkit" / folder / "_private.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_quick.py").write_text(TEST)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    architecture.modules.cache_clear()
    yield
    architecture.modules.cache_clear()


@pytest.mark.parametrize("rule", list(architecture.RULES))
def test_the_checker_can_fail(rule, broken):
    assert len(architecture.RULES[rule]()) == EXPECTED[rule]


def test_long_files_and_circles_are_detected(broken, tmp_path):
    folder = tmp_path / "executorkit"
    (folder / "long.py").write_text("from . import round_\nx = 1\n" * 400)
    (folder / "round_.py").write_text("def f():\n    from . import long\n")
    architecture.modules.cache_clear()
    assert [f.text for f in architecture.file_sizes()] == ["800 lines"]
    assert len(architecture.import_circles()) == 1


def test_circles_through_stubs_are_detected(broken, tmp_path):
    folder = tmp_path / "executorkit"
    (folder / "lower.py").write_text("")
    (folder / "upper.py").write_text("from .lower import x\n")
    architecture.modules.cache_clear()
    assert not architecture.import_circles()
    (folder / "lower.pyi").write_text("from executorkit.upper import Upper\n")
    architecture.stubs.cache_clear()
    assert len(architecture.import_circles()) == 1
    architecture.stubs.cache_clear()
