"""Numbers of traces and compilations, and the functions that run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from typing import Any

import jax
import pytest

import executorkit as mx
from executorkit.program import cache_info, clear_cache, set_cache_limit
from executorkit.program._compiled_function import MAX_COMPILED_SHAPES

pytestmark = pytest.mark.usefixtures("fresh_programs")


def _net(hidden: int = 5):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _bound(batch: int = 4, **kwargs) -> Any:
    return _net().simple_bind(mx.cpu(), data=(batch, 6), **kwargs)


def _ran(executor) -> dict[str, int]:
    """Traces of each function of the executor's program that has any."""
    return {f.name: f.traces for f in executor.program.functions if f.traces}


def _step(executor, read: bool = False):
    executor.forward(is_train=True)
    if read:
        executor.outputs[0].asnumpy()
    executor.backward()
    executor.grad_dict["fc1_weight"].wait_to_read()


def test_many_steps_are_one_trace():
    executor = _bound()
    for _ in range(5):
        _step(executor)
        executor.arg_dict["fc1_weight"][:] -= 0.1 * executor.grad_dict["fc1_weight"]
    assert _ran(executor) == {"forward_backward_train": 1}
    assert executor.outputs[0].asnumpy().shape == (4, 3)
    assert executor.program.traces == 1
    names = {f.name for f in executor.program.functions}
    assert not {"forward_train", "backward", "observe", "observe_backward"} & names


def test_reading_before_backward_runs_forward_and_backward():
    executor = _bound()
    for _ in range(3):
        _step(executor, read=True)
    assert _ran(executor) == {"forward_train": 1, "backward": 1}


def test_an_unread_backward_runs_nothing():
    executor = _bound()
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
    assert executor.program.traces == 0
    executor.grad_dict["fc2_bias"].asnumpy()
    executor.outputs[0].asnumpy()
    assert _ran(executor) == {"forward_backward_train": 1}


def test_reading_after_backward_runs_nothing_more():
    executor = _bound()
    _step(executor)
    executor.outputs[0].asnumpy()
    assert _ran(executor) == {"forward_backward_train": 1}


def test_inference_is_one_trace_and_saves_nothing_for_backward():
    executor = _bound()
    for _ in range(3):
        executor.forward()
        executor.outputs[0].asnumpy()
    assert _ran(executor) == {"infer": 1}


def test_training_forward_without_gradients_is_inference_in_training_mode():
    executor = _bound(grad_req="null")
    executor.forward(is_train=True)[0].asnumpy()
    executor.backward()
    assert _ran(executor) == {"infer_train": 1}


def test_an_unread_forward_runs_nothing():
    executor = _bound()
    for _ in range(3):
        executor.forward(is_train=True)
    executor.forward()
    assert executor.program.traces == 0


def test_reshape_costs_one_trace_and_going_back_none():
    first = _bound(4)
    _step(first)
    second = first.reshape(data=(2, 6), softmax_label=(2,))
    assert second.program is first.program
    _step(second)
    assert second.program.traces == 2
    third = second.reshape(data=(4, 6), softmax_label=(4,), allow_up_sizing=True)
    _step(third)
    _step(first)
    assert third.program.traces == 2


def test_equal_graphs_share_their_program():
    first, second = _bound(), _bound()
    assert second.program is first.program
    _step(first)
    _step(second)
    assert first.program.traces == 1


def test_names_do_not_matter_to_a_program():
    def named(prefix: str):
        with mx.name.Prefix(prefix):
            net = mx.sym.FullyConnected(mx.sym.Variable(prefix), num_hidden=3)
            return mx.sym.sin(net).simple_bind(mx.cpu(), **{prefix: (2, 4)})

    assert named("a_").program is named("b_").program


@pytest.mark.parametrize(
    "other",
    [
        lambda: _net(7).simple_bind(mx.cpu(), data=(4, 6)),
        lambda: _bound(grad_req={"fc1_weight": "write"}),
        lambda: mx.sym.Group([net := _net(), mx.sym.BlockGrad(net)]).simple_bind(
            mx.cpu(), data=(4, 6)
        ),
    ],
    ids=["attribute", "argnums", "outputs"],
)
def test_other_graphs_have_other_programs(other):
    assert other().program is not _bound().program


def test_other_types_are_another_trace_of_the_same_program():
    single = _bound()
    double = _bound(type_dict={"data": "float64"})
    assert double.program is single.program
    _step(single)
    _step(double)
    assert single.program.traces == 2


def test_compile_makes_the_first_call_free_of_traces():
    executor = _bound().compile(is_train=True)
    assert _ran(executor) == {"forward_backward_train": 1}
    _step(executor)
    assert executor.program.traces == 1
    executor.compile()
    executor.forward()[0].asnumpy()
    assert _ran(executor) == {"forward_backward_train": 1, "infer": 1}


def test_compile_knows_the_head_gradients():
    net = mx.sym.sin(mx.sym.Variable("x")) * mx.sym.Variable("y")
    executor = net.simple_bind(mx.cpu(), "add", x=(3,), y=(3,)).compile(is_train=True)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(3))
    assert executor.program.traces == 1


def test_compile_with_random_numbers():
    net = mx.sym.sum(mx.sym.Dropout(mx.sym.Variable("x"), p=0.5))
    executor = net.simple_bind(mx.cpu(), x=(3, 4)).compile(is_train=True)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(1))
    assert executor.program.traces == 1


def test_traces_are_counted_with_their_seconds():
    before = cache_info()
    executor = _bound()
    _step(executor)
    after = cache_info()
    assert after.traces - before.traces == 1
    assert after.seconds - before.seconds == pytest.approx(executor.program.compile_seconds)
    assert executor.program.compile_seconds > 0


def test_the_cache_is_bounded_and_drops_the_least_recently_used():
    limit = cache_info().limit
    try:
        set_cache_limit(2)
        programs = [_net(hidden).simple_bind(mx.cpu(), data=(1, 2)).program for hidden in (1, 2)]
        assert _net(1).simple_bind(mx.cpu(), data=(1, 2)).program is programs[0]
        _net(3).simple_bind(mx.cpu(), data=(1, 2))
        assert cache_info().programs == 2
        assert _net(1).simple_bind(mx.cpu(), data=(1, 2)).program is programs[0]
        assert _net(2).simple_bind(mx.cpu(), data=(1, 2)).program is not programs[1]
    finally:
        set_cache_limit(limit)


def test_a_cache_without_room_is_refused():
    with pytest.raises(ValueError, match="room for at least one program, not 0"):
        set_cache_limit(0)


def test_clearing_the_cache_leaves_executors_alone():
    executor = _bound()
    _step(executor)
    clear_cache()
    assert cache_info().programs == 0
    _step(executor)
    assert executor.program.traces == 1
    assert _bound().program is not executor.program


def test_clearing_a_program_compiles_it_again():
    executor = _bound()
    _step(executor)
    executor.program.clear()
    _step(executor)
    assert executor.program.traces == 2


def test_a_function_forgets_when_it_has_seen_too_many_shapes(monkeypatch):
    monkeypatch.setattr("executorkit.program._compiled_function.MAX_COMPILED_SHAPES", 2)
    assert MAX_COMPILED_SHAPES > 2
    executor = (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), x=(8,))
    for size in (1, 2, 3, 1):
        executor.reshape(x=(size,)).forward()[0].asnumpy()
    assert executor.program.traces == 4


def test_many_shapes_leave_caches_bounded(monkeypatch):
    monkeypatch.setattr("executorkit.program._compiled_function.MAX_COMPILED_SHAPES", 8)
    executor = (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), x=(100,))
    function: Any = executor.program.infer[False]
    held = []
    for size in range(1, 30):
        smaller = executor.reshape(x=(size,))
        assert smaller.forward(x=mx.nd.ones((size,)))[0].asnumpy().sum() == 2 * size
        held.append(function._jitted._cache_size())
    assert max(held) <= 9
    assert cache_info().programs == 1
    for _ in range(200):
        executor.symbol.infer_shape(x=(size := size + 1,))
    assert len(executor.graph.memo) <= 64


def test_memory_and_flops_of_a_matrix_product():
    net = mx.sym.dot(mx.sym.Variable("a"), mx.sym.Variable("b"))
    executor = net.simple_bind(mx.cpu(), "null", a=(8, 16), b=(16, 4))
    assert executor.program.memory() is None
    assert executor.program.flops() is None
    executor.compile()
    assert executor.program.flops() == pytest.approx(2 * 8 * 16 * 4, rel=0.05)
    memory = executor.program.memory()
    assert memory is not None
    assert memory["arguments"] == 4 * (8 * 16 + 16 * 4)
    assert memory["outputs"] >= 4 * 8 * 4
    assert executor.program.analyse().function == "infer"
    assert executor.program.traces == 1


def test_debug_str_tells_what_xla_says():
    executor = _bound()
    assert "XLA: not compiled yet; run it, or call executor.compile()" in executor.debug_str()
    executor.compile(is_train=True)
    text = executor.debug_str()
    assert "XLA program forward_backward_train:" in text
    assert "FLOPs" in text


@pytest.mark.usefixtures("compiled")
def test_one_run_of_each_program_per_step():
    """Counted from outside, by JAX itself."""
    seen: Counter[str] = Counter()

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            seen["compiled"] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        executor = _net(11).simple_bind(mx.cpu(), data=(3, 6))
        _step(executor)
        jax.block_until_ready([g.jax for g in executor.grad_arrays])
        once = seen["compiled"]
        for _ in range(3):
            _step(executor)
        assert once == 1
        assert seen["compiled"] == 1
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


PERSISTENT = """
    import sys
    import jax
    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    events = []
    jax.monitoring.register_event_listener(lambda event, **kwargs: events.append(event))
    import executorkit as mx
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3), name="o")
    executor = net.simple_bind(mx.cpu(), x=(2, 4))
    executor.forward(is_train=True)
    executor.backward()
    mx.nd.waitall()
    print(sum(e == "/jax/compilation_cache/cache_hits" for e in events),
          sum(e == "/jax/compilation_cache/cache_misses" for e in events))
"""


def test_the_persistent_compilation_cache_serves_the_next_process(tmp_path):
    def run() -> list[int]:
        command = [sys.executable, "-c", textwrap.dedent(PERSISTENT), str(tmp_path)]
        environment = os.environ | {"EXECUTORKIT_INTERPRET": "0"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return [int(n) for n in done.stdout.split()]

    hits, misses = run()
    assert (hits, misses >= 1) == (0, True)
    assert run() == [misses, 0]
