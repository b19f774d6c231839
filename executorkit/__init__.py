"""Apache MXNet 1.x symbols, checkpoints and executor scripts on JAX.

    import executorkit as mx

    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="fc")
    executor = net.simple_bind(mx.cpu(), data=(32, 784))
    (output,) = executor.forward(is_train=False)

Names, arguments and import paths are MXNet 1.9.1's.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from . import (
    attribute,
    base,
    callback,
    context,
    contrib,
    engine,
    error,
    executor,
    executor_manager,
    export,
    gluon,
    image,
    initializer,
    inspection,
    io,
    kvstore,
    libinfo,
    library,
    log,
    lowering,
    lr_scheduler,
    metric,
    misc,
    model,
    module,
    monitor,
    name,
    ndarray,
    notebook,
    onnx,
    operator,
    ops,
    optimizer,
    parallel,
    profiler,
    program,
    random,
    recordio,
    registry,
    rnn,
    runtime,
    symbol,
    test_utils,
    training,
    util,
    visualization,
)
from . import image as img
from . import initializer as init
from . import kvstore as kv
from . import module as mod
from . import monitor as mon
from . import ndarray as nd
from . import random as rnd
from . import symbol as sym
from . import visualization as viz
from .attribute import AttrScope
from .context import (
    Context,
    cpu,
    cpu_pinned,
    current_context,
    gpu,
    gpu_memory_info,
    num_gpus,
    tpu,
)
from .errors import MXNetError
from .executor import Executor
from .ndarray import NDArray
from .symbol import Symbol
from .unserved import attribute_getter as _attribute_getter
from .unserved import refuse_imports as _refuse_imports
from .util import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

__version__ = _version("executorkit")

__all__ = [
    "AttrScope",
    "Context",
    "Executor",
    "MXNetError",
    "NDArray",
    "Symbol",
    "attribute",
    "base",
    "callback",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "current_context",
    "engine",
    "error",
    "executor",
    "executor_manager",
    "export",
    "gluon",
    "gpu",
    "gpu_memory_info",
    "image",
    "img",
    "init",
    "initializer",
    "inspection",
    "io",
    "is_np_array",
    "is_np_shape",
    "kv",
    "kvstore",
    "libinfo",
    "library",
    "log",
    "lowering",
    "lr_scheduler",
    "metric",
    "misc",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "notebook",
    "np_array",
    "np_shape",
    "num_gpus",
    "onnx",
    "operator",
    "ops",
    "optimizer",
    "parallel",
    "profiler",
    "program",
    "random",
    "recordio",
    "registry",
    "rnd",
    "rnn",
    "runtime",
    "set_np_shape",
    "sym",
    "symbol",
    "test_utils",
    "tpu",
    "training",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "util",
    "visualization",
    "viz",
]

_refuse_imports()

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__, lambda: __all__)
