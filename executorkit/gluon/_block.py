"""``Block``: a network of Python code that works on arrays, with parameters and children."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import initializer
from ..display import Viewed
from ..errors import ArgumentValueError, InputTypeError
from . import _block_files
from ._naming import BlockScope
from ._summary import print_summary
from .parameter import Parameter, ParameterDict
from .utils import HookHandle

_UNIFORM = initializer.Uniform()


class Block(Viewed):
    """A network, or a part of one: subclasses make their children and parameters in ``__init__``
    and compute in ``forward(*args)``.

    prefix
        what the names of its parameters begin with; by default its class's name and a number,
        within the prefix of the block in whose ``name_scope()`` it is made.
    params
        a ParameterDict, another block's say, whose parameters it shares.

    A block that is assigned to an attribute becomes a child, a :class:`Parameter` one of its
    parameters. A call runs ``forward``, under ``autograd.record()`` recorded as any call.

    >>> import executorkit as mx
    >>> class Net(mx.gluon.Block):
    ...     def __init__(self):
    ...         super().__init__()
    ...         with self.name_scope():
    ...             self.dense = mx.gluon.nn.Dense(2)
    ...     def forward(self, x):
    ...         return self.dense(x).relu()
    >>> net = Net()
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.ones((1, 3))).asnumpy().tolist()
    [[3.0, 3.0]]
    >>> net
    Net(
      (dense): Dense(3 -> 2, linear)
    )
    """

    _text_is_repr = True
    #: True if ``summary`` has no line for it.
    _is_container = False
    #: True if it can run as a graph; then whether it does, its graph, and the shapes of its inputs.
    _can_hybridize = False
    _runs_as_graph: Any = False
    _traced: Any = None
    _input_shapes: Mapping[str, tuple[int, ...]] = {}

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self)
        self._children: OrderedDict[str, Any] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Any] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()

    def __repr__(self) -> str:
        return self._text((k, v) for k, v in vars(self).items() if isinstance(v, Block))

    def _text(self, blocks: Iterable[tuple[str, Any]]) -> str:
        """The class's name, and a line for each of these blocks by name."""
        lines = ["  ({}): {}".format(k, repr(v).replace("\n", "\n  ")) for k, v in blocks]
        return "{}(\n{}\n)".format(type(self).__name__, "\n".join(lines))

    def __setattr__(self, name: str, value: Any) -> None:
        known = vars(self).get(name)
        if isinstance(known, (Parameter, Block)) and not isinstance(value, type(known)):
            problem = f"it is a {type(known).__name__}, and cannot become a {type(value).__name__}"
            raise InputTypeError(f"{type(self).__name__}.{name}", problem)
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params and self._reg_params[name] is not value:
                problem = "there is another parameter, which cannot be replaced"
                hint = "set_data on it, or del block.params ..."
                raise ArgumentValueError(f"{type(self).__name__}.{name}", problem, hint=hint)
            self._reg_params[name] = value
        super().__setattr__(name, value)

    # -- names -------------------------------------------------------------------------------------

    def _alias(self) -> str:
        """The text that the prefixes of the class begin with."""
        return type(self).__name__.lower()

    @property
    def prefix(self) -> str:
        """The beginning of the names of its parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> BlockScope:
        """A scope in which blocks and parameters are made whose names begin with its prefix."""
        return self._scope

    # -- parameters --------------------------------------------------------------------------------

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of its children."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Its parameters and those of all its children.

        ``select`` is a regular expression that names have to begin with ('.*weight|.*bias').
        """
        self._warn_of_containers()
        parameters = ParameterDict(self._params.prefix)
        if select is None:
            parameters.update(self._params)
        else:
            pattern = re.compile(select)
            parameters.update({k: v for k, v in self._params.items() if pattern.match(k)})
        for child in self._children.values():
            parameters.update(child.collect_params(select=select))
        return parameters

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """All parameters by attribute: '0.weight', 'features.1.bias'."""
        prefix = prefix + "." if prefix else ""
        parameters = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            parameters.update(child._collect_params_with_prefix(prefix + name))
        return parameters

    def _warn_of_containers(self) -> None:
        """UserWarning for lists and dicts of blocks, which are no children."""
        children = {*map(id, self._children.values())}
        for name, value in vars(self).items():
            if name.startswith("__") or name in ("_children", "_cached_op_args"):
                continue
            if isinstance(value, (list, tuple, dict)) and any(
                isinstance(x, Block) and id(x) not in children for x in _leaves(value)
            ):
                path = f"{type(self).__name__}.{name}"
                warnings.warn(
                    f'"{path}" is an unregistered container with Blocks: those inside a list, a '
                    "tuple or a dict are not registered. Use register_child(), nn.Sequential or "
                    "nn.HybridSequential.",
                    stacklevel=3,
                )

    def initialize(
        self,
        init: Any = _UNIFORM,
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initializes all parameters, those of unknown shape when they are first used.

        init
            an initializer or its name, for parameters that have none of their own; by default
            ``Uniform(0.07)``.
        ctx
            a context, or several.
        force_reinit
            whether parameters are initialized that are so already; otherwise a warning says so.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Changes the dtype of its parameters and those of its children."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    # -- files -------------------------------------------------------------------------------------

    def save_parameters(self, filename: Any, deduplicate: bool = False) -> None:
        """Writes all parameters by attribute ('0.weight'), in the format of ``mx.nd.save``.

        ``deduplicate`` writes a shared parameter once, by its last name.
        """
        _block_files.save_parameters(self, filename, deduplicate)

    def load_parameters(
        self,
        filename: Any,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Reads parameters from a file of :meth:`save_parameters`, or of the older ``save_params``.

        ctx
            a context, or several, for parameters that are not initialized; by default the current
            one.
        allow_missing, ignore_extra
            whether parameters may be missing in the file, and the file may have others.
        cast_dtype, dtype_source
            whether dtypes may differ, and which is taken: 'current', the parameter's, or 'saved'.

        AssertionError or ValueError, as MXNet's, for a file that does not fit; nothing is changed
        then.
        """
        options = ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        _block_files.load_parameters(self, filename, *options)

    def save_params(self, filename: Any) -> None:
        """Deprecated: writes parameters by their names without the block's prefix."""
        warnings.warn("save_params is deprecated. Please use save_parameters.", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self, filename: Any, ctx: Any = None, allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:  # fmt: skip
        """Deprecated: :meth:`load_parameters`."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Writes ``prefix-model.json``, the structure with the graphs of hybridized blocks, and
        ``prefix-model.params``."""
        _block_files.save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Reads what :meth:`save` wrote for a block of the same structure."""
        _block_files.load_model(self, prefix)

    def _restore(self, name: str, parameters: ParameterDict, facts: Mapping[str, Any]) -> None:
        """Takes over a saved name, the parameters with names that begin with it, and what else a
        file says."""
        self._name = name
        self._params = parameters

    # -- children and hooks ------------------------------------------------------------------------

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Makes a block a child, by a name or its number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Calls a function with every child, children first, then with the block; returns it."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Has ``hook(block, inputs, output)`` called after each forward; it changes neither."""
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Has ``hook(block, inputs)`` called before each forward."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Has ``callback(name, operator, array)`` called with every operator's outputs (and inputs,
        with ``monitor_all``) in children that are hybridized."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Has children that are :class:`HybridBlock` run as graphs, or not."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def summary(self, *inputs: Any) -> None:
        """Prints a table of layers, output shapes and numbers of parameters, for these inputs."""
        print_summary(self, inputs)

    # -- computing ---------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """The result of ``forward``, with the hooks called."""
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        output = self.forward(*args)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, output)
        return output

    def forward(self, *args: Any) -> Any:
        """Computes outputs; a subclass does."""
        raise NotImplementedError


def _leaves(value: Any) -> Iterator[Any]:
    """The elements of nested lists, tuples and dicts."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        yield value
        return
    for part in value:
        yield from _leaves(part)
