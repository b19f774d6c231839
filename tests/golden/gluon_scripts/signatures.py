"""Names, arguments and defaults of classes and functions; and what modules hold."""

from __future__ import annotations

import inspect

from ._facts import script

#: Public methods and properties that MXNet's classes define themselves.
_MEMBERS = {
    "Block": "apply cast collect_params forward hybridize initialize load load_parameters"
    " load_params name name_scope params prefix register_child register_forward_hook"
    " register_forward_pre_hook register_op_hook save save_parameters save_params summary",
    "HybridBlock": "cast export forward hybrid_forward hybridize infer_shape infer_type"
    " optimize_for register_child register_op_hook",
    "SymbolBlock": "cast forward hybrid_forward imports reset_ctx",
    "Parameter": "cast data dtype grad grad_req initialize list_ctx list_data list_grad"
    " list_row_sparse_data reset_ctx row_sparse_data set_data shape var zero_grad",
    "Constant": "grad_req",
    "ParameterDict": "get get_constant initialize items keys list_ctx load load_dict prefix"
    " reset_ctx save setattr update values zero_grad",
    "Trainer": "allreduce_grads learning_rate load_states optimizer save_states"
    " set_learning_rate step update",
}
_MODULES = {
    "block": "Block DeferredInitializationError HybridBlock Parameter ParameterDict SymbolBlock",
    "parameter": "Constant DeferredInitializationError Parameter ParameterDict tensor_types",
    "trainer": "Trainer Parameter ParameterDict",
    "loss": "HybridBlock Loss L2Loss _apply_weighting _reshape_like",
    "utils": "check_sha1 clip_global_norm download replace_file split_and_load split_data",
    "nn": "Block HybridBlock SymbolBlock Dense activations basic_layers conv_layers",
}


def _parameters(function):
    """Names and defaults of the parameters; of a property, its class."""
    if not callable(function):
        return type(function).__name__
    parameters = inspect.signature(function).parameters.values()
    return [[p.name, "" if p.default is p.empty else _text(p.default)] for p in parameters]


def _text(default):
    if isinstance(default, type):
        return default.__name__
    plain = default is None or isinstance(default, (bool, int, float, str))
    return str(default) if plain else type(default).__name__


def _signatures(mx, *classes):
    seen = {}
    for name in classes:
        kind = getattr(mx.gluon, name)
        seen[name] = _parameters(kind)
        for member in _MEMBERS[name].split():
            seen[f"{name}.{member}"] = _parameters(getattr(kind, member))
    return seen


@script
def signatures_of_blocks(mx):
    return _signatures(mx, "Block", "HybridBlock", "SymbolBlock")


@script
def signatures_of_parameters(mx):
    return _signatures(mx, "Parameter", "Constant", "ParameterDict")


@script
def signatures_of_trainers(mx):
    return _signatures(mx, "Trainer")


@script
def signatures_of_utilities(mx):
    names = _MODULES["utils"].split()
    return {name: _parameters(getattr(mx.gluon.utils, name)) for name in names}


@script
def contents_of_modules(mx):
    """Import paths that programs use, and one object under several names."""
    gluon = mx.gluon
    held = {
        m: [n for n in names.split() if hasattr(getattr(gluon, m), n)]
        for m, names in _MODULES.items()
    }
    same = [gluon.nn.Block is gluon.Block, gluon.block.HybridBlock is gluon.HybridBlock]
    same += [gluon.nn.HybridBlock is gluon.HybridBlock, gluon.trainer.Trainer is gluon.Trainer]
    same += [
        gluon.parameter.Parameter is gluon.Parameter,
        gluon.nn.SymbolBlock is gluon.SymbolBlock,
    ]
    error = gluon.parameter.DeferredInitializationError
    same += [
        issubclass(error, mx.base.MXNetError),
        gluon.block.DeferredInitializationError is error,
    ]
    bases = [gluon.HybridBlock, gluon.SymbolBlock, gluon.Constant, gluon.nn.HybridSequential]
    return held, same, [issubclass(a, b) for a in bases for b in (gluon.Block, gluon.Parameter)]
