"""Files of a bucketing module: parameters, a symbol for each bucket, and the buckets' keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from .. import ndarray as nd
from ..errors import ModuleUsageError, explain
from ..model import load_params
from ..symbol import Symbol
from ..symbol import load as load_symbol
from ._buckets import Buckets, SymGen
from ._usage import require
from .module import Module


class BucketFiles(Buckets):
    """Saving and loading a module with buckets."""

    def save_optimizer_states(self, fname: str) -> None:
        """As :meth:`Module.save_optimizer_states`; MXNet's buckets do not have it."""
        require(self, "save_optimizer_states", "optimizer_initialized")
        self._curr_module.save_optimizer_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """As :meth:`Module.load_optimizer_states`; MXNet's buckets do not have it."""
        require(self, "load_optimizer_states", "optimizer_initialized")
        self._curr_module.load_optimizer_states(fname)

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes ``<prefix>-<epoch, four digits>.params``, ``<prefix>-<key>-symbol.json`` for each
        bucket so far, and their keys, which are numbers or tuples of them, to ``<prefix>.buckets``.

        Each file is there whole or not at all.
        """
        if not self._buckets:
            raise ModuleUsageError(
                explain("save_checkpoint", "there is no bucket yet", hint="bind(...) first")
            )
        self.save_params(f"{prefix}-{int(epoch):04d}.params")
        for key in self._buckets:
            symbol = self._call_sym_gen(key)[0]
            symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype=np.int32))

    @classmethod
    def load(
        cls,
        prefix: str,
        epoch: int,
        sym_gen: SymGen | None = None,
        default_bucket_key: Any = None,
        **kwargs: Any,
    ) -> Self:
        """A module with the buckets and parameters of a checkpoint, to be bound.

        AssertionError without ``sym_gen`` (for the names of the inputs) or ``default_bucket_key``.
        """
        _require_arguments("load", sym_gen=sym_gen, default_bucket_key=default_bucket_key)
        stored: Any = nd.load(f"{prefix}.buckets")
        keys = [tuple(k) if isinstance(k, list) else k for k in stored[0].asnumpy().tolist()]
        symbols = {key: load_symbol(f"{prefix}-{key}-symbol.json") for key in keys}
        params = load_params(prefix, epoch)
        return cls.load_dict(symbols, sym_gen, default_bucket_key, *params, **kwargs)

    @classmethod
    def load_dict(
        cls,
        sym_dict: Mapping[Any, Symbol] | None = None,
        sym_gen: SymGen | None = None,
        default_bucket_key: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> Self:
        """A module with the given symbols as buckets, and parameters, to be bound.

        AssertionError if one of the first five arguments is missing.
        """
        _require_arguments(
            "load_dict",
            sym_dict=sym_dict,
            sym_gen=sym_gen,
            default_bucket_key=default_bucket_key,
            arg_params=arg_params,
            aux_params=aux_params,
        )
        assert sym_gen is not None
        loaded = cls(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in (sym_dict or {}).items():
            _, data_names, label_names = loaded._call_sym_gen(key)
            loaded._buckets[key] = Module(symbol, data_names, label_names, **loaded._options)
        module = loaded._buckets.setdefault(
            default_bucket_key, loaded._make_bucket(default_bucket_key)
        )
        module._arg_params, module._aux_params = dict(arg_params), dict(aux_params)
        module.params_initialized = loaded.params_initialized = True
        loaded._curr_module = module
        return loaded


def _require_arguments(doing: str, **values: Any) -> None:
    """AssertionError for the first argument that is None."""
    for name, value in values.items():
        if value is None:
            raise ModuleUsageError(explain(f"BucketingModule.{doing}", f"{name} is missing"))
