"""MXNet's import path ``mxnet.kvstore.kvstore_server``: its servers, of which there are none."""

from typing import Any

from ..errors import NotSupportedError


class KVStoreServer:
    """Not served: constructing one raises NotSupportedError. Every process makes every update."""

    def __init__(self, kvstore: Any) -> None:
        because = "sums over processes are made by jax.distributed"
        hint = "start workers only, and call jax.distributed.initialize in each"
        raise NotSupportedError("KVStoreServer", "there are no servers", because=because, hint=hint)
