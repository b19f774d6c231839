"""``SymbolBlock``: a block whose graph is a symbol."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import symbol
from .._support.annotations import Attrs
from ..context import current_context
from ..errors import InputTypeError
from ..ndarray import NDArray
from ..symbol import Group, Symbol
from ._hybrid_block import HybridBlock, _first_input
from ._parameter_dict import ParameterDict
from ._traced_graph import TracedGraph, flatten
from ._types import Contexts, Ops, Tensor


class SymbolBlock(HybridBlock):
    """A block that computes a symbol. Its parameters are all arguments and auxiliary states of the
    symbol that are not inputs.

    outputs
        A symbol, or a list of symbols.
    inputs
        The variables that a call gives: one, or a list.
    params
        A ParameterDict whose parameters it shares by name.

    >>> import executorkit as mx
    >>> data = mx.sym.Variable("data")
    >>> net = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    >>> block = mx.gluon.SymbolBlock(net, data)
    >>> block.initialize(mx.init.One())
    >>> block(mx.nd.ones((1, 3))).asnumpy().tolist()
    [[4.0, 4.0]]
    """

    def __init__(self, outputs: Any, inputs: Tensor, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        variables = [inputs] if isinstance(inputs, Symbol) else list(inputs)
        for variable in variables:
            if variable.get_children() is not None:
                problem = f"Input symbols must be variable, but {variable!r} is an output"
                raise InputTypeError("SymbolBlock", problem)
        output = outputs
        if isinstance(outputs, (list, tuple)):
            output = outputs[0] if len(outputs) == 1 else Group(list(outputs))
        structures = flatten(variables, "input")[1], flatten(outputs, "output")[1]
        self._traced = TracedGraph(variables, output, *structures)
        inputs_by_name = {x.name for x in variables}
        types, states = _types(output), set(output.list_auxiliary_states())
        for name in [*output.list_arguments(), *output.list_auxiliary_states()]:
            if name not in inputs_by_name:
                options = {"grad_req": "null"} if name in states else {}
                self._params.get(name, allow_deferred_init=True, dtype=types[name], **options)
        columns = zip(*list(self._params.keys()), strict=False)
        length = sum(1 for _ in itertools.takewhile(lambda column: len({*column}) == 1, columns))
        self._reg_params = {name[length:]: p for name, p in self._params.items()}

    @staticmethod
    def imports(
        symbol_file: str,
        input_names: str | Sequence[str],
        param_file: str | None = None,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Reads a block from files of ``export``, ``Module`` or ``mx.model.save_checkpoint``.

        symbol_file
            The file of the symbol.
        input_names
            The names of the inputs.
        param_file
            The file of the parameters; without it they are not initialized.
        ctx
            A context or several for the parameters; by default the current one. Without effect
            for parameters that are not read.
        allow_missing, ignore_extra
            Whether the file may lack parameters, and have others.
        """
        output = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(output, [symbol.Variable(name) for name in names])
        if param_file is not None:
            block.collect_params().load(
                param_file, current_context() if ctx is None else ctx, allow_missing, ignore_extra,
                cast_dtype=True, dtype_source="saved",
            )  # fmt: skip
        return block

    def __repr__(self) -> str:
        graph = self._traced
        assert graph is not None
        count = len(graph.output.list_outputs())
        text = f"{graph.output!r} : {len(graph.inputs)} -> {count}"
        return f"{type(self).__name__}(\n{text}\n)"

    def forward(self, x: Tensor, *args: Tensor) -> Tensor:
        first = x if isinstance(x, NDArray) and not args else _first_input(x, args)
        if isinstance(first, NDArray):
            return self._call_cached_op(x, *args)
        graph = self._traced
        assert graph is not None
        values = [value for value in flatten((x, *args), "input")[0] if value is not None]
        names = [str(variable.name) for variable in graph.inputs]
        return graph.output(**dict(zip(names, values, strict=True)))

    def hybrid_forward(self, F: Ops, x: Tensor, *args: Tensor, **kwargs: Any) -> Tensor:
        raise NotImplementedError

    def called_graph(self) -> tuple[list[Symbol], Symbol]:
        graph = self._traced
        assert graph is not None
        return graph.inputs, graph.output

    def _clear_cached_op(self) -> None:
        # The graph itself stays.
        self._compiled = None

    def reset_ctx(self, ctx: Contexts) -> None:
        """Moves the parameters to a context or to several."""
        self.collect_params().reset_ctx(ctx)


def _types(output: Symbol) -> Attrs:
    of_arguments, _, of_states = output.infer_type_partial()
    names = [*output.list_arguments(), *output.list_auxiliary_states()]
    types = [*(of_arguments or ()), *(of_states or ())]
    known = dict(zip(names, types, strict=False))
    return {name: known.get(name) or np.float32 for name in names}
