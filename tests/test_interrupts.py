"""Steps are atomic: after an exception everything is as before the step, or as after it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit.calls.rollback import Rollback, all_or_none, complete
from executorkit.jax_internals import differentiable, thread_mesh
from executorkit.parallel import Replicas, ReplicatedArray
from executorkit.program import CompiledFunction, Donated
from tests._tools.interrupts import WAYS, Interrupter, StepTraining, interrupt_steps

pytestmark = pytest.mark.usefixtures("one_way")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_at_a_bytecode_leaves_the_state_before_the_step_or_after_it(way):
    """At a few places of a step here; the soak test takes all of them."""
    raised, wrong = interrupt_steps(WAYS[way], range(1, 10**6, 251))
    assert raised >= 5
    assert not wrong


@pytest.mark.parametrize("way", ["module", "step, 2 devices", "updater", "updater, looked"])
@pytest.mark.parametrize("file", ["executor/_pending_step.py", "program/_donation.py"])
def test_an_interrupt_at_each_line_where_results_are_stored(way, file):
    raised, wrong = interrupt_steps(WAYS[way], range(1, 10**6), events="line", only=file)
    assert raised >= (0 if "looked" in way else 8)
    assert not wrong


@pytest.mark.parametrize("exception", [MemoryError, ValueError])
def test_other_exceptions_do_no_harm_either(exception):
    raised, wrong = interrupt_steps(WAYS["module"], range(1, 10**6, 397), exception=exception)
    assert raised >= 5
    assert not wrong


def test_an_interrupt_while_the_first_step_is_compiled_leaves_the_parameters():
    raised, wrong = 0, []
    for at in (3_000, 9_000, 20_000):  # calls; each time the training is a new one
        make = partial(StepTraining, partial(optax.adam, 1e-2))  # with a program of its own
        counts = interrupt_steps(make, [at], warm=0, events="call")
        raised, wrong = raised + counts[0], wrong + counts[1]
    assert raised >= 2
    assert not wrong


class InferenceBackward:
    """Gradients that are added up by ``backward(is_train=False)``, past a normalisation."""

    def __init__(self) -> None:
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
        self._executor = mx.sym.BatchNorm(net, fix_gamma=False, name="bn").simple_bind(
            mx.cpu(), data=(4, 2), grad_req="add"
        )
        for array in self._executor.arg_arrays:
            array[:] = np.arange(1, array.size + 1).reshape(array.shape)

    def step(self, number: int) -> None:
        self._executor.forward(is_train=True)
        self._executor.backward([mx.nd.ones((4, 3))], is_train=False)

    def state(self) -> dict[str, Any]:
        return {name: array.asnumpy() for name, array in self._executor.grad_dict.items()}


def test_an_interrupted_backward_of_inference_adds_all_gradients_or_none():
    raised, wrong = interrupt_steps(
        InferenceBackward, range(1, 10**6), events="line", only="executor/_backward.py"
    )
    assert raised >= 10
    assert not wrong


def test_the_checker_notices_a_step_that_is_not_atomic():
    class Careless:
        def __init__(self) -> None:
            self.first = self.second = 0

        def step(self, number: int) -> None:
            self.first += 1
            self.second += 1

        def state(self) -> dict[str, int]:
            return {"first": self.first, "second": self.second}

    raised, wrong = interrupt_steps(Careless, range(1, 100), events="line", only=__file__)
    assert raised > len(wrong) > 0


def test_the_checker_interrupts_nothing_whose_exceptions_python_ignores():
    """The callbacks of the collector (JAX has one) and of weak references, and finalizers."""

    class Finalized:
        def __del__(self) -> None:
            str(self)

    def step() -> None:
        weak = weakref.WeakValueDictionary()
        for key in range(4):
            weak[key] = finalized = Finalized()
            del finalized
            gc.collect(0)

    places = set()
    for at in range(1, 10**6):  # pytest fails a test in which an exception was ignored
        interrupter = Interrupter(at)
        if not interrupter.run(step):
            break
        assert interrupter.place is not None
        places.add(interrupter.place[2])
    assert "step" in places
    assert not places & {"__del__", "_xla_gc_callback", "remove", "_remove"}


def test_fit_goes_on_after_an_interrupt():
    data = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
    labels = np.zeros(12, "float32")

    def module() -> mx.mod.Module:
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))

    class Stop(BaseException):
        pass

    interrupted, reference = module(), module()
    initial = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    options = {"optimizer": "adam", "num_epoch": 1, "arg_params": initial}
    batches = []

    def stop(param) -> None:
        batches.append(param.nbatch)
        if len(batches) == 2:
            raise Stop

    iterator = mx.io.NDArrayIter(data, labels, 4)
    with pytest.raises(Stop):
        interrupted.fit(iterator, batch_end_callback=stop, **options)
    assert interrupted._optimizer.num_update == 2
    first = mx.io.NDArrayIter(data[:8], labels[:8], 4)
    reference.fit(first, **options)
    for name, value in reference.get_params()[0].items():
        np.testing.assert_array_equal(interrupted.get_params()[0][name].asnumpy(), value.asnumpy())
    assert dict(interrupted.score(iterator, "acc"))["accuracy"] >= 0
    iterator.reset()
    with pytest.warns(UserWarning, match="initiali"):
        interrupted.fit(iterator, num_epoch=1)
    assert interrupted._optimizer.num_update == 5


def test_an_interrupt_before_the_update_runs_leaves_the_gradients_own_program():
    training = WAYS["updater"]()
    for number in range(2):
        training.prepare(number)
        training.step(number)
    training.prepare(2)
    assert Interrupter(1, events="call", only="program/_compiled_function.py").run(
        lambda: training.step(2)
    )
    program = training.executor.program
    steps = len(program.train_steps(True))
    assert np.isfinite(training.executor.grad_dict["fc1_weight"].asnumpy()).all()
    assert len(program.train_steps(True)) == steps


# -- programs that donate --------------------------------------------------------------------------


def _doubling(change: Callable[..., Any] = lambda x: x) -> CompiledFunction:
    def doubled(state: Any, x: Any) -> Any:
        return tuple(2 * a for a in state), change(x)

    return CompiledFunction(doubled, "doubled", True)


def _calls_python(x: Any) -> Any:
    jax.debug.callback(lambda: None)
    return x


def _needs_much_memory(x: Any) -> Any:
    table = jax.lax.broadcasted_iota("float32", (2**23, 2**23), 0) * x
    return jax.lax.sort(table, dimension=0)[2, 3]


@pytest.mark.parametrize(
    ("change", "size", "expected"),
    [
        (lambda x: x, 3, [True, False, False]),
        (lambda x: x, 2**22, [False, False, False]),
        (_calls_python, 3, [True, True, True]),
    ],
    ids=["small", "large", "callback"],
)
def test_copies_of_donated_arrays_are_made_where_they_may_be_needed(change, size, expected):
    function = _doubling(change)
    state = (jax.numpy.ones(size), jax.numpy.ones((2, 2)))
    saved = []
    for _ in expected:
        results: list = []
        donated = Donated(state)
        function.call_into(results, donated, (jax.numpy.float32(1),))
        saved.append(donated.saved is not None)
        assert all(x.is_deleted() for x in state)
        state = results[0][0]
    assert saved == expected
    assert function.traces == 1
    np.testing.assert_array_equal(state[0][:3], [8, 8, 8])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("change", [lambda x: x, _calls_python], ids=["plain", "callback"])
def test_arrays_that_a_failed_call_destroyed_are_restored(change):
    function = _doubling(change)
    state = (jax.numpy.arange(3.0), jax.numpy.ones((2, 2)))
    copies = [np.array(x) for x in state]
    donated = Donated(state)

    class Full(list):
        def extend(self, values) -> None:
            if [*values]:  # runs the program, and loses its result
                raise MemoryError

    with pytest.raises(MemoryError):
        function.call_into(Full(), donated, (jax.numpy.float32(1),))
    assert all(x.is_deleted() for x in state)
    for restored, copy in zip(donated.restored(), copies, strict=True):
        np.testing.assert_array_equal(restored, copy)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("size", [3, 2**22])
def test_arrays_donated_to_a_program_without_memory_for_its_first_run_are_restored(size):
    function = _doubling(_needs_much_memory)
    donated = Donated((jax.numpy.ones(size),))
    results: list = []
    with pytest.raises(jax.errors.JaxRuntimeError, match="memory"):
        function.call_into(results, donated, (jax.numpy.float32(1),))
    assert not results
    np.testing.assert_array_equal(donated.restored()[0][:3], [1, 1, 1])


def test_without_copies_lost_arrays_are_an_error_that_says_so():
    array = jax.numpy.ones(2)
    array.delete()
    with pytest.raises(mx.MXNetError, match="its parameters are lost"):
        Donated((array,)).restored()


def test_the_state_of_the_thread_is_restored():
    mesh, rollback = thread_mesh(), Rollback()
    jax.enable_x64.set_local(True)
    differentiable(False).__enter__()
    jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((1,), ("x",))).__enter__()
    rollback.__exit__(KeyboardInterrupt)
    assert jax.numpy.asarray(np.ones(2)).dtype == "float32"
    assert differentiable.value
    assert thread_mesh() is mesh
    assert jax.sharding.get_abstract_mesh().empty

    # Bytecodes of JAX's context for 64-bit types; its exit among them.
    array, after = mx.nd.ones(3), []
    executor = (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), x=(3,))
    for at in range(1, 60):
        executor.forward(x=array)
        Interrupter(at, only="_src/config.py").run(executor.outputs[0].asnumpy)
        after.append(jax.numpy.asarray(np.ones(2)).dtype.name)
    assert set(after) == {"float32"}


def _array_operations() -> dict[str, Callable[[], Any]]:
    host, array, other = np.ones((3, 4)), mx.nd.ones((3, 4)), mx.nd.ones((3, 4), mx.cpu(1))
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init(0, array)
    return {
        "array": lambda: mx.nd.array(host).jax,
        "part": lambda: array[1:2].jax,
        "assigned part": lambda: array.__setitem__(slice(0, 1), host[:1]),
        "float64": lambda: array.astype("float64").asnumpy(),
        "random": lambda: mx.nd.random.uniform(shape=(3,)).asnumpy(),
        "store": lambda: store.push(0, [array, other]),
    }


@pytest.mark.parametrize("name", _array_operations())
def test_an_interrupt_at_a_change_of_64_bit_types_restores_them(name):
    operation = _array_operations()[name]
    for _ in range(3):
        operation()
    modes = []
    with jax.enable_x64(False):
        for file in ("_src/config.py", "jax_internals.py", "program/_compiled_function.py"):
            for at in range(1, 120):
                if not Interrupter(at, only=file).run(operation):
                    break
                modes.append(jax.enable_x64.get_local())
    assert modes
    assert set(modes) == {False}


@pytest.mark.parametrize("n_devices", [2, 3])
def test_parts_that_jax_has_not_listed_when_it_was_interrupted_are_no_loss(n_devices):
    contexts = [mx.cpu(k) for k in range(n_devices)]
    replicas = Replicas.on([c.device for c in contexts])
    host = np.arange(4.0 * n_devices, dtype="float32").reshape(n_devices, 4)
    incomplete = set()
    for at in range(1, 10**6):
        array = ReplicatedArray(contexts, (4,), "float32", replicas.from_host(host))
        if not Interrupter(at).run(array[1].asnumpy):
            break
        incomplete.add(len(array.value.addressable_shards))
        for row, member in zip(host, array, strict=True):
            np.testing.assert_array_equal(member.asnumpy(), row)
        gathered = replicas.gather(array.value, contexts[0].device)
        np.testing.assert_array_equal(np.concatenate(gathered), host)
        donated = Donated((array.value,))
        donated.save()
        np.testing.assert_array_equal(donated.saved[0], host)
    assert incomplete == set(range(1, n_devices + 1))  # else JAX has changed


# -- helpers ---------------------------------------------------------------------------------------


def test_complete_runs_an_action_to_its_end():
    done: list[int] = []

    def action() -> None:
        for k in range(3):
            if len(done) == 1:
                done.append(k)
                raise KeyboardInterrupt
            done.append(k)

    with pytest.raises(KeyboardInterrupt):
        complete(action)
    assert done == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("has_happened", [False, True])
def test_a_rollback_undoes_its_block_or_ends_it(has_happened):
    done: list[str] = []
    with Rollback(lambda: has_happened, finish=lambda: done.append("end")) as rollback:
        rollback.add(lambda: done.append("undo"))
    assert not done
    rollback.__exit__(KeyboardInterrupt)
    assert done == (["end"] if has_happened else ["undo"])


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_all_or_none_ends_what_has_begun(failing):
    counts = [0, 0, 0]
    failures = [failing]

    def act(k: int) -> None:
        if k in failures:
            failures.remove(k)
            raise KeyboardInterrupt
        counts[k] += 1

    actions = [(lambda k=k: act(k), lambda k=k: counts[k]) for k in range(3)]
    with pytest.raises(KeyboardInterrupt):
        all_or_none(actions)
    assert counts == ([0, 0, 0] if failing == 0 else [1, 1, 1])


# -- errors are raised once, and harm no other step ------------------------------------------------


def _failing(monkeypatch: pytest.MonkeyPatch) -> mx.executor.Executor:
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", fix_gamma=False)
    executor = net.simple_bind(mx.cpu(), x=(4, 3))

    class Failing:
        code_bytes = 0

        def __call__(self, *args: Any) -> None:
            raise RuntimeError("device lost")

    monkeypatch.setattr(executor.program, "forward_backward", (Failing(), Failing()))
    monkeypatch.setattr(executor.program, "infer", (Failing(), Failing()))
    return executor


def test_waitall_raises_an_error_once(monkeypatch):
    executor = _failing(monkeypatch)
    other = (mx.sym.Variable("y") + 1).simple_bind(mx.cpu(), y=(2,))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4, 3)))
    (out,) = other.forward()
    with pytest.raises(RuntimeError, match="device lost"):
        mx.nd.waitall()
    mx.nd.waitall()
    assert out.asnumpy().tolist() == [1, 1]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="device lost"):
            executor.grad_arrays[0].asnumpy()
    assert executor.aux_arrays[0].asnumpy().tolist() == [0, 0, 0]


def test_a_look_that_raised_leaves_nothing_for_waitall(monkeypatch):
    executor = _failing(monkeypatch)
    (out,) = executor.forward()
    with pytest.raises(RuntimeError, match="device lost"):
        out.asnumpy()
    mx.nd.waitall()


def test_an_update_whose_program_fails_is_withdrawn_and_uncounted(monkeypatch):
    training = WAYS["updater"]()
    training.prepare(0)
    training.step(0)
    before = training.state()
    training.prepare(1)

    def fail(self, results, donated, args):
        raise RuntimeError("device lost")

    with monkeypatch.context() as patch:
        patch.setattr(CompiledFunction, "call_into", fail)
        with pytest.raises(RuntimeError, match="device lost"):
            training.step(1)
    after = training.state()
    assert after["num_update"] == before["num_update"]
    for name, value in before["args"].items():
        np.testing.assert_array_equal(after["args"][name], value)
    training.step(1)
    assert training.state()["num_update"] == 2
