"""``mx.test_utils``: each check accepts correct values and refuses wrong ones."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

import executorkit as mx
from executorkit import test_utils as tu


@pytest.fixture
def x():
    return np.array([[1.0, 2.0], [-3.0, 0.5]], np.float32)


@pytest.fixture
def square():
    v = mx.sym.Variable("x")
    return mx.sym.broadcast_mul(v, v, name="y")


class TestCompare:
    def test_tolerances_are_those_of_the_less_precise_array(self):
        single, half = np.zeros(2, np.float32), np.zeros(2, np.float16)
        assert tu.get_tols(single, half, None, None) == (1e-2, 1e-1)
        assert tu.get_tols(single, single, None, None) == (1e-4, 1e-3)
        assert tu.get_tols(single, half, 1, 2) == (1, 2)
        assert tu.get_rtol() == 1e-5
        assert tu.get_atol(None, np.dtype("float32")) == 1e-3
        assert tu.get_tols(single, single, {np.float32: 0.5}, 0) == (0.5, 0)

    def test_integers_are_compared_exactly(self):
        assert tu.almost_equal(np.array([1, 2]), np.array([1, 2]))
        assert not tu.almost_equal(np.array([1, 2]), np.array([1, 3]))

    def test_ndarrays_and_numpy_arrays_mix(self):
        tu.assert_almost_equal(mx.nd.ones((2, 3)), np.ones((2, 3), np.float32))
        tu.assert_almost_equal(mx.nd.ones((2, 3)), 1.0)
        assert tu.same(mx.nd.ones((2,)), np.ones(2))
        assert not tu.same(mx.nd.ones((2,)), np.zeros(2))

    def test_message_names_index_and_values_of_the_largest_error(self):
        a, b = np.ones(3, np.float32), np.array([1, 1.5, 1.25], np.float32)
        with pytest.raises(AssertionError) as caught:
            tu.assert_almost_equal(a, b, rtol=0, atol=0.125, names=("ours", "theirs"))
        assert str(caught.value).splitlines() == [
            "2 of 3 entries (66.666667%) differ by more than rtol=0.000000e+00, atol=1.250000e-01",
            "  error 4.000000 times the tolerance at (1,): ours=1.00000000, theirs=1.50000000",
            "  error 2.000000 times the tolerance at (2,): ours=1.00000000, theirs=1.25000000",
            " ours: array([1., 1., 1.], dtype=float32)",
            " theirs: array([1.  , 1.5 , 1.25], dtype=float32)",
        ]

    def test_shapes(self):
        tu.assert_almost_equal(np.ones(3), np.ones((2, 3)))
        with pytest.raises(AssertionError, match=r"a has shape \(3,\), b has \(2, 3\)"):
            tu.assert_almost_equal(np.ones(3), np.ones((2, 3)), use_broadcast=False)
        with pytest.raises(AssertionError, match="cannot be broadcast"):
            tu.assert_almost_equal(np.ones(3), np.ones((2, 2)))

    def test_nan(self):
        a = np.array([np.nan, 1.0])
        assert not tu.almost_equal(a, a)
        assert tu.almost_equal(a, a, equal_nan=True)
        tu.assert_almost_equal_ignore_nan(a, np.array([3.0, 1.0]))
        with pytest.raises(AssertionError):
            tu.assert_almost_equal_ignore_nan(a, np.array([3.0, 2.0]))

    def test_share_of_errors(self):
        a, b = np.array([1.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])
        tu.assert_almost_equal_with_err(a, b, etol=0.5)
        with pytest.raises(AssertionError, match="1 of 3"):
            tu.assert_almost_equal_with_err(a, b, etol=0.1)

    def test_assert_exception(self):
        tu.assert_exception(int, ValueError, "q")
        with pytest.raises(AssertionError, match="ValueError was not raised"):
            tu.assert_exception(int, ValueError, "1")
        with pytest.raises(ValueError, match="invalid literal"):
            tu.assert_exception(int, KeyError, "q")

    def test_nested_tuples(self):
        one, two = mx.nd.ones((2,)), mx.nd.zeros((2,))
        tu.compare_ndarray_tuple((one, (one, None)), (one, (one, two)))
        with pytest.raises(AssertionError):
            tu.compare_ndarray_tuple((one, (one, two)), (one, (two, two)))

    def test_same_array_sees_views_and_undoes_its_write(self):
        a = mx.nd.ones((2, 2))
        assert tu.same_array(a, a.reshape((2, 2)))
        assert not tu.same_array(a, mx.nd.ones((2, 2)))
        assert tu.same(a, np.ones((2, 2)))


class TestRandom:
    def test_shapes_stay_in_range(self):
        for _ in range(50):
            assert all(1 <= d <= 3 for d in tu.rand_shape_nd(4, dim=3))
            a, b, c = tu.rand_shape_3d(1, 2, 3)
            assert (a, b <= 2, c <= 3) == (1, True, True)
        assert tu.rand_shape_2d(1, 1) == (1, 1)
        assert (0, 0) in [tu.rand_shape_nd(2, 1, allow_zero_size=True) for _ in range(50)]

    def test_arrays(self):
        array = tu.rand_ndarray((50, 60), dtype="float64")
        assert (array.shape, array.dtype, array.context) == ((50, 60), np.float64, mx.cpu())
        assert abs(array.asnumpy().mean()) < 0.1
        assert abs(array.asnumpy().std() - 1) < 0.1
        assert tu.random_arrays((2, 3)).dtype == np.float32
        assert [a.shape for a in tu.random_arrays((2, 3), ())] == [(2, 3), ()]
        (uniform,) = tu.random_uniform_arrays((50, 60), low=1, high=2)
        assert 1 <= uniform.min() < 1.1 < 1.9 < uniform.max() < 2
        with pytest.raises(mx.base.MXNetError, match="only dense arrays are served"):
            tu.rand_ndarray((2, 3), "csr")

    def test_sample_keeps_the_order(self):
        for _ in range(20):
            chosen = tu.random_sample(range(10), 4)
            assert len(set(chosen)) == 4
            assert chosen == sorted(chosen)

    def test_matrices(self):
        q = tu.new_orthonormal_matrix_2d(4)
        np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
        symmetric = tu.new_sym_matrix_with_real_eigvals_nd((2, 3, 4, 4))
        np.testing.assert_array_equal(symmetric, symmetric.swapaxes(-1, -2))
        eigenvalues = np.linalg.eigvals(tu.new_matrix_with_real_eigvals_nd((5, 4, 4)))
        np.testing.assert_allclose(eigenvalues.imag, 0, atol=1e-6)
        assert tu.same(tu.get_identity_mat_batch(2), np.stack([np.eye(2)] * 2))

    def test_reductions(self):
        data = np.arange(24.0).reshape(2, 3, 4)
        np.testing.assert_array_equal(
            tu.np_reduce(data, (0, -1), True, np.sum), data.sum((0, 2), keepdims=True)
        )
        assert tu.np_reduce(data, None, False, np.max) == 23
        np.testing.assert_array_equal(
            tu.collapse_sum_like(data, (3, 1)), data.sum((0, 2)).reshape(3, 1)
        )
        with pytest.raises(ValueError, match="does not broadcast"):
            tu.collapse_sum_like(data, (5, 1))

    def test_assign_each(self):
        data = np.array([[1.0, 2.0]])
        np.testing.assert_array_equal(tu.assign_each(data, lambda v: v + 1), [[2, 3]])
        np.testing.assert_array_equal(tu.assign_each2(data, data, lambda a, b: a * b), [[1, 4]])
        np.testing.assert_array_equal(tu.assign_each(data, None), data)

    def test_counting_arrays(self):
        assert tu.create_2d_tensor(2, 3).asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]
        assert tu.create_vector(3).dtype == np.int64


class TestSetting:
    def test_default_context(self):
        assert tu.default_context() == mx.cpu(0)
        with mx.cpu(0):
            tu.set_default_context(mx.cpu(1))
            assert mx.nd.zeros((1,)).context == mx.cpu(1)
        assert tu.default_context() == mx.cpu(0)
        assert tu.default_dtype() is np.float32

    def test_environment_is_restored(self, monkeypatch):
        monkeypatch.setenv("EK_A", "before")
        monkeypatch.delenv("EK_B", raising=False)
        with tu.environment({"EK_A": None, "EK_B": "2"}):
            assert "EK_A" not in os.environ
            assert os.environ["EK_B"] == "2"
        assert os.environ["EK_A"] == "before"
        assert "EK_B" not in os.environ
        with tu.environment("EK_B", "3"):
            assert os.environ["EK_B"] == "3"
        with pytest.raises(TypeError, match="one dict, or a name and a value"), tu.environment(1):
            pass

    def test_retry(self):
        calls = []

        @tu.retry(3)
        def flaky(attempts):
            calls.append(attempts)
            assert len(calls) >= attempts

        flaky(2)
        assert calls == [2, 2]
        with pytest.raises(AssertionError):
            flaky(99)
        assert len(calls) == 5
        with pytest.raises(ValueError, match="at least 1"):
            tu.retry(0)

    def test_discard_stderr(self, capfd):
        with tu.discard_stderr():
            os.write(2, b"noise")
        os.write(2, b"news")
        assert capfd.readouterr().err == "news"

    def test_no_gpu_on_this_machine(self):
        assert list(tu.list_gpus()) == list(range(mx.context.num_gpus()))


class TestStatistics:
    def test_moments(self):
        assert tu.mean_check(lambda n: np.random.normal(2, 3, n), 2, 3, 100000)
        assert not tu.mean_check(lambda n: np.random.normal(2, 3, n), 2.2, 3, 100000)
        assert tu.var_check(lambda n: np.random.normal(2, 3, n), 3, 100000)
        assert not tu.var_check(lambda n: np.random.normal(2, 3, n), 3.2, 100000)

    def test_distribution(self):
        buckets, probs = tu.gen_buckets_probs_with_ppf(lambda p: 4 * p, 4)
        assert (buckets[0], probs) == ((0.0, 1.0), [0.25] * 4)
        tu.verify_generator(lambda n: np.random.uniform(0, 4, n), buckets, probs, 10000)
        with pytest.raises(AssertionError, match="0 of 5 chi-square tests passed"):
            tu.verify_generator(lambda n: np.random.uniform(0, 3.5, n), buckets, probs, 10000)

    def test_discrete_distribution(self):
        p, observed, expected = tu.chi_square_check(
            lambda n: np.random.randint(0, 2, n), [0, 1], [0.5, 0.5], 1000
        )
        assert p > 1e-4
        assert observed.sum() == 1000
        np.testing.assert_array_equal(expected, [500, 500])


class TestSymbolChecks:
    def test_simple_forward(self, square, x):
        np.testing.assert_array_equal(tu.simple_forward(square, x=x), x * x)
        first, second = tu.simple_forward(mx.sym.Group([square, square * 2]), x=x)
        np.testing.assert_array_equal(second, 2 * first)

    def test_forward(self, square, x):
        (out,) = tu.check_symbolic_forward(square, [x], [x * x])
        assert out.shape == x.shape
        tu.check_symbolic_forward(square, {"x": x}, {"y_output": x * x})
        with pytest.raises(AssertionError, match="EXPECTED_y_output=2"):
            tu.check_symbolic_forward(square, [x], [x * x + 1])
        with pytest.raises(ValueError, match=r"location names \['z'\].*arguments are \['x'\]"):
            tu.check_symbolic_forward(square, {"z": x}, [x * x])

    @pytest.mark.parametrize("grad_req", ["write", "add", ["add"], {"x": "write"}])
    def test_backward(self, square, x, grad_req):
        head = np.full_like(x, 3)
        grads = tu.check_symbolic_backward(square, [x], [head], [6 * x], grad_req=grad_req)
        assert list(grads) == ["x"]
        with pytest.raises(AssertionError, match="BACKWARD_x"):
            tu.check_symbolic_backward(square, [x], [head], [7 * x], grad_req=grad_req)

    def test_backward_leaves_null_alone(self, square, x):
        head = {"y_output": np.ones_like(x)}
        tu.check_symbolic_backward(square, [x], head, {"x": x}, grad_req="null")

    def test_backward_of_a_loss_needs_no_heads(self, x):
        loss = mx.sym.MakeLoss(mx.sym.Variable("x") * 2)
        tu.check_symbolic_backward(loss, [x], None, [np.full_like(x, 2)])

    def test_numeric_gradient(self, square, x):
        tu.check_numeric_gradient(square, [x])
        tu.check_numeric_gradient(square, {"x": x}, grad_nodes={"x": "add"}, dtype=np.float64)
        with pytest.raises(AssertionError, match="NUMERICAL_x"):
            tu.check_numeric_gradient(mx.sym.BlockGrad(square), [x])
        with pytest.raises(ValueError, match="dtype is int32"):
            tu.check_numeric_gradient(square, [x], dtype=np.int32)

    def test_numeric_gradient_of_a_layer_with_states(self, x):
        data = mx.sym.Variable("data")
        norm = mx.sym.BatchNorm(data, fix_gamma=False, name="bn")
        location = {"data": x.astype(np.float64), "bn_gamma": [1.5, 2.0], "bn_beta": [0.0, 1.0]}
        states = {"bn_moving_mean": np.zeros(2), "bn_moving_var": np.ones(2)}
        tu.check_numeric_gradient(norm, location, states, rtol=1e-4, atol=1e-6, dtype=np.float64)

    def test_numeric_grad_alone(self, square, x):
        executor = square.bind(mx.cpu(), {"x": mx.nd.array(x)})
        grads = tu.numeric_grad(executor, {"x": x}, eps=2**-8)
        np.testing.assert_allclose(grads["x"], 2 * x, rtol=1e-3)

    def test_consistency(self, square):
        contexts = [
            {"ctx": mx.cpu(i), "x": (2, 3), "type_dict": {"x": dtype}}
            for i, dtype in enumerate((np.float64, np.float32, np.float16))
        ]
        truth = tu.check_consistency(square, contexts)
        assert sorted(truth) == ["x", "y_output"]
        assert truth["y_output"].dtype == np.float64
        assert "x" not in tu.check_consistency(square, contexts, grad_req="null")

        v = mx.sym.Variable("x")
        wrong = mx.sym.broadcast_add(v, v, name="y")
        symbols = [square, wrong, square]
        with pytest.raises(AssertionError, match=r"y_output of executor 1 \(cpu\(1\)\)"):
            tu.check_consistency(symbols, contexts)
        with pytest.warns(UserWarning, match="y_output of executor 1"):
            tu.check_consistency(symbols, contexts, raise_on_err=False)
        with pytest.raises(AssertionError, match=r"list_outputs\(\)"):
            tu.check_consistency([square, square * 2, square], contexts)

    def test_speed(self, square, x):
        assert 0 < tu.check_speed(square, N=2, x=(2, 2)) < 10
        assert 0 < tu.check_speed(square, location={"x": x}, N=2, typ="forward") < 10
        with pytest.raises(ValueError, match="expected 'whole' or 'forward'"):
            tu.check_speed(square, typ="half", x=(2, 2))

    def test_structure(self):
        a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        assert tu.same_symbol_structure(mx.sym.exp(a) + b, mx.sym.exp(b) + a)
        assert not tu.same_symbol_structure(mx.sym.exp(a) + b, mx.sym.exp(a) + a)


def test_every_name_is_documented():
    assert [n for n in tu.__all__ if not getattr(tu, n).__doc__] == []


class TestData:
    """MNIST as MXNet gives it, from files of five images."""

    @pytest.fixture
    def mnist(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        os.mkdir("data")
        images = np.arange(5 * 28 * 28).astype(np.uint8).reshape(5, 28, 28)
        labels = np.array([3, 1, 4, 1, 5], np.int8)
        for name in ("train", "t10k"):
            head = np.array([2051, 5, 28, 28], ">i4").tobytes()
            with gzip.open(f"data/{name}-images-idx3-ubyte.gz", "wb") as file:
                file.write(head + images.tobytes())
            with open(f"data/{name}-labels-idx1-ubyte", "wb") as file:
                file.write(np.array([2049, 5], ">i4").tobytes() + labels.tobytes())
        return images, labels

    def test_arrays(self, mnist):
        arrays = tu.get_mnist()
        assert list(arrays) == ["train_data", "train_label", "test_data", "test_label"]
        np.testing.assert_array_equal(arrays["test_label"], mnist[1])
        assert arrays["test_label"].dtype == np.int8
        np.testing.assert_array_equal(arrays["train_data"][:, 0], np.float32(mnist[0]) / 255)

    def test_iterators(self, mnist):
        train, test = tu.get_mnist_iterator(2, (784,))
        assert next(train).data[0].shape == (2, 784)
        assert sum(1 for _ in test) == 2
        images, _ = tu.get_mnist_iterator(5, (1, 28, 28))
        assert sorted(next(images).label[0].asnumpy()) == [1, 1, 3, 4, 5]

    def test_missing_or_damaged_files_are_named(self, mnist):
        os.truncate("data/t10k-labels-idx1-ubyte", 11)
        with pytest.raises(
            ValueError, match=r"t10k-labels-idx1-ubyte: it holds 3 values, expected 5"
        ):
            tu.get_mnist()
        os.remove("data/t10k-labels-idx1-ubyte")
        with pytest.raises(OSError, match="t10k-labels-idx1-ubyte is missing"):
            tu.get_mnist()

    def test_endless_batches(self):
        real = mx.io.NDArrayIter(np.arange(6.0), batch_size=2)
        dummy = tu.DummyIter(real)
        assert (dummy.batch_size, dummy.provide_data) == (2, real.provide_data)
        assert next(dummy) is next(iter(dummy))

    def test_download(self, tmp_path):
        source = tmp_path / "a.bin"
        source.write_bytes(b"one")
        url, target = source.as_uri(), tmp_path / "new" / "a.bin"
        assert tu.download(url, dirname=str(tmp_path / "new")) == str(target)
        source.write_bytes(b"two")
        assert tu.download(url, fname=str(target)) == str(target)
        assert target.read_bytes() == b"one"
        tu.download(url, fname=str(target), overwrite=True)
        assert target.read_bytes() == b"two"
        with pytest.raises(OSError, match="none"):
            tu.download((tmp_path / "none").as_uri(), fname=str(tmp_path / "none.bin"))
        assert not (tmp_path / "none.bin.tmp").exists()
