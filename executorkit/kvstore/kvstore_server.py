"""MXNet's import path ``mxnet.kvstore.kvstore_server``: its servers, of which there are none."""

from ..errors import NotSupportedError


class KVStoreServer:
    """Raises NotSupportedError: every process makes every update."""

    def __init__(self, kvstore: object) -> None:
        because = "workers sum among themselves"
        hint = "kv.create('dist_sync') in each worker; a process of DMLC_ROLE=server ends at import"
        raise NotSupportedError("KVStoreServer", "not served", because=because, hint=hint)
