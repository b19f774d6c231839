# Written by `python -m tests.make_stubs`.
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NoReturn
from executorkit.display import Viewed
from executorkit.ops.schema.operator_registry import OpDef
from executorkit.symbol._python_operators import PythonOperators
from executorkit.symbol.node import Entry, Node
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from executorkit.ops.schema.attrs import Shape
from executorkit.lowering._jax_function import JaxFunction
from executorkit.lowering.summary import Summary
from collections.abc import Mapping, Sequence
from executorkit.context import Context
from executorkit.ndarray import NDArray
from executorkit.executor._executor import Executor
class Symbol(PythonOperators, Viewed):

    def __init__(self, heads: Sequence[Entry]) -> None:
        ...

    @property
    def heads(self) -> tuple[Entry, ...]:
        ...

    @staticmethod
    def _call(op: str, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Symbol:
        ...

    def _single(self) -> Node | None:
        ...

    @property
    def name(self) -> str | None:
        ...

    def __repr__(self) -> str:
        ...

    def _variables(self, auxiliary: bool | None=None) -> list[str]:
        ...

    def list_arguments(self) -> list[str]:
        ...

    def list_auxiliary_states(self) -> list[str]:
        ...

    def list_inputs(self) -> list[str]:
        ...

    def list_outputs(self) -> list[str]:
        ...

    def __len__(self) -> int:
        ...

    def __iter__(self) -> Iterator[Symbol]:
        ...

    def __getitem__(self, index: int | str | slice) -> Symbol:
        ...

    def _position(self, name: str) -> int:
        ...

    def _similar_output(self, name: str, outputs: Sequence[str]) -> str:
        ...

    def get_internals(self) -> Symbol:
        ...

    def get_children(self) -> Symbol | None:
        ...

    def attr(self, key: str) -> str | None:
        ...

    def list_attr(self, recursive: bool=False) -> dict[str, str]:
        ...

    def attr_dict(self) -> dict[str, dict[str, str]]:
        ...

    def _set_attr(self, **kwargs: str) -> None:
        ...

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        ...

    def _gen_atomic_symbol(self) -> Symbol:
        ...

    def _replacements(self, order: Sequence[Node], args: Sequence[Symbol], kwargs: Mapping[str, Symbol]) -> dict[Node, Entry]:
        ...

    def as_nd_ndarray(self) -> Symbol:
        ...

    def as_np_ndarray(self) -> Any:
        ...

    def __copy__(self) -> Symbol:
        ...

    def __deepcopy__(self, memo: object) -> Symbol:
        ...

    def __reduce__(self) -> tuple[Any, ...]:
        ...

    def tojson(self, remove_amp_cast: bool=True) -> str:
        ...

    def save(self, fname: str | os.PathLike[str] | IO[Any], remove_amp_cast: bool=True) -> None:
        ...

    def debug_str(self) -> str:
        ...

    def get_backend_symbol(self, backend: str) -> Symbol:
        ...

    def optimize_for(self, backend: str, args: Any=None, aux: Any=None, ctx: Any=None, shape_dict: Mapping[str, Any] | None=None, type_dict: Mapping[str, Any] | None=None, stype_dict: Mapping[str, Any] | None=None, skip_infer: bool=False, **kwargs: Any) -> Symbol:
        ...

    def gradient(self, wrt: Sequence[str]) -> NoReturn:
        ...

    def infer_shape(self, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
        """Infers shapes of arguments, outputs and auxiliary states from the shapes of some inputs.

    Shapes are given by name, or by position in the order of ``list_arguments`` (None for unknown);
    0 is an unknown dimension, or -1 under :func:`executorkit.util.np_shape`. Returns three lists of
    shapes; three times None, with a warning that names the unknown ones, if they do not follow.
    Raises :class:`ShapeError` for a contradiction and :class:`MXNetError` for an unknown name.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> net.infer_shape(data=(32, 10))
    ([(32, 10), (3, 10), (3,)], [(32, 3)], [])
    """
        ...

    def infer_shape_partial(self, *args: Shape | None, **kwargs: Shape) -> tuple[Any, Any, Any]:
        """Returns the known part of :meth:`infer_shape`, more than MXNet knows: () for an unknown
    shape, 0 for an unknown dimension; under :func:`executorkit.util.np_shape` None and -1."""
        ...

    def infer_type(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Infers element types of arguments, outputs and auxiliary states, as NumPy scalar classes.

    Types are given by name or by position, as anything that NumPy takes for a dtype. Returns three
    times None, with a warning, if they do not follow. Raises :class:`DTypeError` for a
    contradiction and :class:`MXNetError` for an unknown name.
    """
        ...

    def infer_type_partial(self, *args: object, **kwargs: object) -> tuple[Any, Any, Any]:
        """Returns the known part of :meth:`infer_type`: None for an unknown type."""
        ...

    def summary(self, type_dict: Mapping[str, object] | None=None, **shapes: Sequence[int]) -> Summary:
        """Summarizes output shapes, parameters, FLOPs and bytes of every layer.

    Shapes, usually of the inputs, and types in ``type_dict`` are given by name; unknown results are
    shown as "?". Returns a :class:`~executorkit.lowering.Summary`: a table when it is printed, with
    the sums as attributes and the layers as items.

    FLOPs count one forward pass at inference, before XLA fuses anything: two for each product of a
    convolution (products with its padding too) or of matrices, one for each other element computed.
    Nothing is compiled. Raises :class:`ShapeError` for a contradiction and :class:`MXNetError` for
    an unknown name. MXNet has no such method; see ``mx.viz.print_summary`` for its table.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> net.summary(data=(32, 784))
    Symbol fc: 1 operator
    inputs: data (32, 784)
    layer  operator        output shape  parameters  FLOPs    output
    -----  --------------  ------------  ----------  -----  --------
    fc     FullyConnected  (32, 10)           7,850  502 k  1.25 KiB
    -----  --------------  ------------  ----------  -----  --------
    sum                                       7,850  502 k  1.25 KiB
    parameters (learned): 7,850, 30.7 KiB
    one forward pass: 502 kFLOPs, with 251 kMACs in convolutions and matrix products
    """
        ...

    def to_jax(self, **shapes: Sequence[int]) -> JaxFunction:
        """Returns the graph as a pure JAX function; see :class:`executorkit.lowering.JaxFunction`.

    Shapes of inputs, by name, let the function's docstring list all others that follow.

    >>> import jax
    >>> import executorkit as mx
    >>> function = (mx.sym.Variable("x") ** 2).to_jax()
    >>> gradient = jax.grad(lambda x: function({"x": x})[0][0])
    >>> float(gradient(3.0))
    6.0
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> print(net.to_jax(data=(32, 784)).__doc__)
    fc as a pure function of JAX arrays.
    <BLANKLINE>
    ``function(args, key=None, is_train=False) -> (outputs, new_aux)``
    <BLANKLINE>
    args, a dict
        data       (32, 784)
        fc_weight  (10, 784)
        fc_bias    (10,)
    <BLANKLINE>
    outputs, a tuple
        fc_output  (32, 10)
    """
        ...

    def bind(self, ctx: Context, args: Any, args_grad: Any=None, grad_req: Any='write', aux_states: Any=None, group2ctx: Any=None, shared_exec: Any=None, compute_dtype: str | None=None, remat: Any=None) -> Executor:
        """Returns an executor of this graph over the caller's arrays; see
    :class:`executorkit.Executor`.

    ctx
        the device that it runs on.
    args, aux_states
        NDArrays of all arguments and auxiliary states, a list in the order of ``list_arguments()``
        and ``list_auxiliary_states()``, or a dict by name. The executor reads them as they are
        written to.
    args_grad
        NDArrays that gradients are written to, in the same form. Gradients that are None or missing
        from a dict are not computed.
    grad_req
        'write', 'add' or 'null', or a list or dict of these by argument.
    group2ctx
        contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
    shared_exec
        accepted; executors of equal graphs share their programs anyway.
    compute_dtype, remat
        precision and rematerialization, as for :meth:`simple_bind`.

    Raises ValueError for a missing array or one that does not fit (ShapeError, which names the
    node), TypeError for an object that is not an NDArray. Nothing is compiled until it runs.

    >>> import executorkit as mx
    >>> x, grad = mx.nd.array([1, 2, 3]), mx.nd.zeros((3,))
    >>> executor = (mx.sym.Variable("x") ** 2).bind(mx.cpu(), [x], [grad])
    >>> executor.forward(is_train=True)[0].asnumpy().tolist()
    [1.0, 4.0, 9.0]
    >>> executor.backward(mx.nd.ones((3,)))
    >>> grad.asnumpy().tolist()
    [2.0, 4.0, 6.0]
    """
        ...

    def simple_bind(self, ctx: Context, grad_req: Any='write', type_dict: Any=None, stype_dict: Any=None, group2ctx: Any=None, shared_arg_names: Any=None, shared_exec: Any=None, shared_buffer: Any=None, compute_dtype: Any=None, remat: Any=None, **kwargs: Any) -> Executor:
        """Returns an executor of this graph over new arrays of zeros, from the shapes of some inputs.

    ctx
        the device that it runs on.
    grad_req
        'write', 'add' or 'null', or a list or dict of these by argument. Every argument, data
        included, gets a gradient unless 'null'. None is 'null'.
    type_dict
        types of arguments by name; by default inferred, else float32.
    stype_dict
        storage types by name: only 'default' is supported.
    group2ctx
        contexts by ``ctx_group`` attribute, for a graph in several devices' memories.
    shared_arg_names, shared_exec, shared_buffer
        arguments whose arrays are taken from another executor; that executor; a dict by name, from
        which other arrays are taken if they fit, and to which new ones are added (gradients as
        ``grad of NAME``).
    compute_dtype
        'bfloat16' or 'float16': float32 arrays are cast to it inside the program; the bound ones
        stay as they are, so that weights are master weights.
    remat
        the values that backward computes again instead of storing them: 'mirror' (all but
        convolutions and matrix products), 'full' (all but those between segments of the graph,
        about as many as each has operators), or a policy of ``jax.checkpoint_policies``. The
        temporaries of a training step of ResNet-50 on 8 images of 64x64, by
        ``executor.program.memory()``, are 166 MiB without, 137 MiB and 77 MiB.
    kwargs
        shapes of arguments by name; others are ignored, with one warning for all.

    ``compute_dtype`` and ``remat``, which MXNet does not have, default to ``mx.program.options``.

    Raises RuntimeError naming the missing shapes, :class:`ShapeError` for a contradiction, naming
    the node, and ValueError (and RuntimeError, as in MXNet) for two arguments of one name.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> executor = net.simple_bind(mx.cpu(), data=(2, 4))
    >>> {name: array.shape for name, array in executor.arg_dict.items()}
    {'data': (2, 4), 'fc_weight': (3, 4), 'fc_bias': (3,)}
    """
        ...

    def eval(self, ctx: Context | None=None, **kwargs: NDArray) -> list[NDArray]:
        """Returns the outputs for the given arrays, by one forward.

    >>> import executorkit as mx
    >>> (mx.sym.Variable("a") + 1).eval(a=mx.nd.array([1, 2]))[0].asnumpy().tolist()
    [2.0, 3.0]
    """
        ...
def _refused_method(name: str) -> Callable[[Symbol], NoReturn]:
    ...
def _outputs_of(node: Node) -> Symbol:
    ...
def _from_json(text: str | bytes) -> Symbol:
    ...
def call_operator(op: OpDef, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Symbol:
    ...
