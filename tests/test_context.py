"""Contexts: names, equality, nesting, threads, and the device that each one means."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import jax
import pytest

import executorkit as mx
from executorkit.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus, tpu
from executorkit.errors import MXNetError

pytestmark = pytest.mark.smoke


def test_printed_forms():
    assert (repr(cpu()), str(gpu(1)), str(Context("cpu_pinned", 2))) == (
        "cpu(0)",
        "gpu(1)",
        "cpu_pinned(2)",
    )
    assert str(Context(tpu(3))) == "tpu(3)"


def test_equality_and_hash_go_by_type_and_number():
    assert cpu() == Context("cpu", 0)
    assert cpu() != cpu(1)
    assert cpu() != gpu()
    assert cpu() != cpu_pinned()
    assert cpu() != 1
    assert len({cpu(), cpu(0), gpu(0)}) == 2


def test_type_numbers_are_those_of_mxnet():
    assert [Context(n).device_typeid for n in ("cpu", "gpu", "cpu_pinned", "cpu_shared")] == [
        1,
        2,
        3,
        5,
    ]
    assert Context.devtype2str[1] == "cpu"


def test_unknown_type_is_a_keyerror_that_lists_the_types():
    with pytest.raises(KeyError) as caught:
        Context("quantum")
    assert isinstance(caught.value, MXNetError)
    assert str(caught.value) == (
        "Context: unknown device type 'quantum'\n"
        "  try: one of: cpu, gpu, cpu_pinned, cpu_shared, tpu"
    )


def test_number_must_be_an_integer():
    with pytest.raises(TypeError):
        cpu("a")  # type: ignore[arg-type]


def test_with_blocks_nest_and_the_same_context_may_be_entered_twice():
    outer = cpu(3)
    assert current_context() == cpu(0)
    with outer as entered:
        assert entered is outer
        with cpu(4), outer:
            assert current_context() == cpu(3)
        assert current_context() == cpu(3)
    assert current_context() == cpu(0)


def test_current_context_belongs_to_a_thread():
    seen = []
    with cpu(5):
        thread = threading.Thread(target=lambda: seen.append(current_context()))
        thread.start()
        thread.join()
    assert seen == [cpu(0)]


def test_cpu_devices_wrap_around():
    devices = jax.devices("cpu")
    assert cpu(0).device == devices[0]
    assert cpu(len(devices)).device == devices[0]
    assert cpu_pinned(0).device == devices[0]


@pytest.mark.skipif(num_gpus() > 0, reason="this machine has a GPU")
def test_a_missing_gpu_suggests_an_alternative():
    assert repr(gpu(2)) == "gpu(2)"
    with pytest.raises(MXNetError) as caught:
        _ = gpu(2).device
    assert str(caught.value).splitlines() == [
        f"context gpu(2): this process has no GPU (JAX sees: {jax.default_backend()})",
        "  try: use mx.cpu(), or install JAX with GPU support",
    ]


def test_missing_cpus_are_explained(monkeypatch):
    def refuse(**_):
        raise RuntimeError("Unknown backend cpu")

    monkeypatch.setattr(jax, "local_devices", refuse)
    with pytest.raises(
        MXNetError, match=r"no CPU device[\s\S]*Unknown backend cpu[\s\S]*'cuda,cpu'"
    ):
        _ = cpu(10_007).device


def test_pickle():
    assert pickle.loads(pickle.dumps(gpu(2))) == gpu(2)


SHARED = """\
cpu(0), cpu({number}): they share 1 device(s), and are served one after the other
  because JAX has 8 CPU device(s) in this process
  try: jax.config.update('jax_num_cpu_devices', {count}) before JAX is used, or \
JAX_NUM_CPU_DEVICES={count} in the environment"""


def _module(contexts):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    mx.mod.Module(net, label_names=None, context=contexts).bind([("data", (4, 3))])


def _grouped(contexts):
    with mx.AttrScope(ctx_group="far"):
        net = mx.sym.exp(mx.sym.var("x"))
    net.simple_bind(contexts[0], x=(2,), group2ctx={"far": contexts[1]})


@pytest.mark.parametrize(("bound", "number"), [(_module, 16), (_grouped, 24)])
def test_contexts_that_share_a_cpu_device_are_reported_once(bound, number):
    contexts = [cpu(0), cpu(number)]
    with pytest.warns(UserWarning, match="they share 1 device") as caught:
        bound(contexts)
    (warning,) = caught
    assert str(warning.message) == SHARED.format(number=number, count=number + 1)
    bound(contexts)  # a second warning would be an error


def test_contexts_on_devices_of_their_own_are_not_reported():
    for bound in (_module, _grouped):
        bound([cpu(0), cpu(1)])
        bound([cpu(0), cpu(0)])


_SCRIPT = """
import logging
{before}
import executorkit as mx
logging.basicConfig(level=logging.DEBUG)
x = mx.nd.ones((2, 3))
executor = mx.sym.exp(mx.sym.var("x")).bind(mx.cpu(), {{"x": x}})
executor.compile()
print(executor.forward()[0].asnumpy().shape)
logging.debug("a line of the script")
"""


def _log_of_script(before: str) -> str:
    program = [sys.executable, "-c", _SCRIPT.format(before=before)]
    run = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True)
    assert run.stdout == "(2, 3)\n"
    return run.stderr


def test_scripts_that_show_debug_lines_see_none_of_jax():
    assert _log_of_script("") == "DEBUG:root:a line of the script\n"


def test_a_level_that_jax_has_is_kept():
    assert "DEBUG:jax." in _log_of_script('logging.getLogger("jax").setLevel(logging.DEBUG)')
