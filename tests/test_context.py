"""Contexts: names, equality, nesting, threads, and the device that each one means."""

from __future__ import annotations

import pickle
import threading

import jax
import pytest

from executorkit.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus, tpu
from executorkit.errors import MXNetError


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


def test_pickle():
    assert pickle.loads(pickle.dumps(gpu(2))) == gpu(2)
