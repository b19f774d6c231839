"""``Block``: a network of Python code that works on arrays, with parameters and children."""

from __future__ import annotations

import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, TypedDict

from .. import initializer
from .._support.annotations import Attrs, Function
from ..display import Viewed
from ..errors import ArgumentValueError, InputTypeError
from ..symbol.naming import NameManager, Prefix
from . import _block_files
from ._parameter import Parameter
from ._parameter_dict import ParameterDict
from ._summary import print_summary
from ._types import Contexts, DType, FilePath, Init
from .utils import HookHandle

_UNIFORM = initializer.Uniform()


class _Entered(threading.local):
    def __init__(self) -> None:
        self.scopes: list[BlockScope] = []


_entered = _Entered()


class BlockScope:
    """Scope of a block, whose prefix begins the names of blocks and symbols created in it. An empty
    prefix has no effect."""

    def __init__(self, block: Any) -> None:
        self._block = block
        self._counter: dict[str, int] = {}
        self._names: list[Prefix | None] = []

    @staticmethod
    def create(
        prefix: str | None, params: ParameterDict | None, hint: str
    ) -> tuple[str, ParameterDict]:
        scope = _entered.scopes[-1] if _entered.scopes else None
        if scope is None:
            own: str = NameManager.current.get(None, hint) + "_" if prefix is None else prefix
        else:
            if prefix is None:
                number = scope._counter.get(hint, 0)
                scope._counter[hint] = number + 1
                prefix = f"{hint}{number}_"
            parent = scope._block
            own = parent.prefix + prefix
            if params is None:
                return own, ParameterDict(parent.params.prefix + prefix, parent.params._shared)
        return own, ParameterDict(own) if params is None else ParameterDict(params.prefix, params)

    def __enter__(self) -> Self:
        if self._block._empty_prefix:
            self._names.append(None)
            return self
        names = Prefix(self._block.prefix)
        names.__enter__()
        self._names.append(names)
        _entered.scopes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        names = self._names.pop()
        if names is not None:
            _entered.scopes.pop()
            names.__exit__(*exc)


class BlockOptions(TypedDict, total=False):
    prefix: str | None
    params: ParameterDict | None


class Block(Viewed):
    """A network, or a part of one. Subclasses create children and parameters in ``__init__`` and
    compute in ``forward(*args)``.

    prefix
        The beginning of the names of its parameters. By default the class's name and a number,
        after the prefix of the block in whose ``name_scope()`` it is created.
    params
        A ParameterDict whose parameters it shares, such as another block's ``params``.

    A block assigned to an attribute becomes a child, a :class:`Parameter` one of its parameters.

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
        """Returns a scope in which names of blocks and parameters begin with the prefix."""
        return self._scope

    # -- parameters --------------------------------------------------------------------------------

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without its children's."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Returns the parameters of the block and its children; ``select``, a regular expression,
        must match the beginning of their names ('.*weight|.*bias')."""
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
        """Returns all parameters by attribute: '0.weight', 'features.1.bias'."""
        prefix = prefix + "." if prefix else ""
        parameters = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            parameters.update(child._collect_params_with_prefix(prefix + name))
        return parameters

    def _warn_of_containers(self) -> None:
        children = {*map(id, self._children.values())}
        for name, value in vars(self).items():
            if not isinstance(value, (list, tuple, dict)) or not value:
                continue
            if name.startswith("__") or name in ("_children", "_cached_op_args", "_reg_params"):
                continue
            if any(isinstance(x, Block) and id(x) not in children for x in _leaves(value)):
                path = f"{type(self).__name__}.{name}"
                warnings.warn(
                    f'"{path}" is an unregistered container with Blocks: those inside a list, a '
                    "tuple or a dict are not registered. Use register_child(), nn.Sequential or "
                    "nn.HybridSequential.",
                    stacklevel=3,
                )

    def initialize(
        self,
        init: Init = _UNIFORM,
        ctx: Contexts = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initializes all parameters; parameters of unknown shape wait for their first use.

        init
            An initializer or its name, for parameters without their own; by default
            ``Uniform(0.07)``.
        ctx
            A context or several.
        force_reinit
            Whether to initialize again; otherwise initialized parameters stay, with a warning.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: DType) -> None:
        """Changes the dtype of all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    # -- files -------------------------------------------------------------------------------------

    def save_parameters(self, filename: FilePath, deduplicate: bool = False) -> None:
        """Writes all parameters by attribute ('0.weight'), in the format of ``mx.nd.save``; with
        ``deduplicate`` a shared parameter once, by its last name."""
        _block_files.save_parameters(self, filename, deduplicate)

    def load_parameters(
        self,
        filename: FilePath,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Reads parameters from a file of :meth:`save_parameters` or of the older ``save_params``.

        ctx
            Contexts of parameters that are not initialized; by default the current one.
        allow_missing
            Whether the file may lack parameters of the block.
        ignore_extra
            Whether the file may have parameters that the block lacks.
        cast_dtype
            Whether dtypes may differ.
        dtype_source
            Which dtype remains then: 'current' (the parameter's) or 'saved'.

        Raises AssertionError or ValueError for a file that does not fit, and changes nothing.
        """
        options = ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        _block_files.load_parameters(self, filename, *options)

    def save_params(self, filename: FilePath) -> None:
        """Writes parameters by their names without the block's prefix. Deprecated."""
        warnings.warn("save_params is deprecated. Please use save_parameters.", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self, filename: FilePath, ctx: Contexts = None, allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:  # fmt: skip
        """Calls :meth:`load_parameters` with the same arguments. Deprecated."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Writes ``prefix-model.json``, the structure with the graphs of hybridized blocks, and
        ``prefix-model.params``."""
        _block_files.save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Reads the files of :meth:`save` into a block of the same structure."""
        _block_files.load_model(self, prefix)

    def _facts(self) -> Attrs:
        return {"orig_name": self.name}

    def _restore(self, name: str, parameters: ParameterDict, facts: Mapping[str, Any]) -> None:
        self._name = name
        self._params = parameters

    # -- children and hooks ------------------------------------------------------------------------

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Makes a block a child, by a name or by its number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Calls a function with all children first, then with the block. Returns the block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def register_forward_hook(self, hook: Function) -> HookHandle:
        """Adds ``hook(block, inputs, output)``, called after each forward; it changes neither."""
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_forward_pre_hook(self, hook: Function) -> HookHandle:
        """Adds ``hook(block, inputs)``, which is called before each forward."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_op_hook(self, callback: Function, monitor_all: bool = False) -> None:
        """Adds ``callback(name, operator, array)``, called in hybridized children with the outputs
        of every operator; with ``monitor_all`` also with the inputs."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Makes children that are a :class:`HybridBlock` run as graphs, or not."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def summary(self, *inputs: Any) -> None:
        """Prints a table of layers, output shapes and numbers of parameters for these inputs."""
        print_summary(self, inputs)

    def _check_runs_layers(self) -> None: ...

    # -- computing ---------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        output = self.forward(*args)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, output)
        return output

    def forward(self, *args: Any) -> Any:
        """Computes the outputs. Subclasses override it."""
        raise NotImplementedError


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        yield value
        return
    for part in value:
        yield from _leaves(part)
