"""Apache MXNet 1.x symbols, checkpoints and executor scripts on JAX.

    import executorkit as mx

    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="fc")
    executor = net.simple_bind(mx.cpu(), data=(32, 784))
    (output,) = executor.forward(is_train=False)

Names, arguments and import paths are MXNet 1.9.1's.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from ._support.garbage_collection import (
    paused_collection as _paused_collection,
    promote_all_objects as _promote_all_objects,
)
from ._support.lazy_modules import lazy_modules as _lazy_modules
from ._support.mxnet_alias import (
    find_aliased_modules as _find_aliased_modules,
    install_as_mxnet as install_as_mxnet,
)
from ._support.unserved import refuse_imports as _refuse_imports
from .processes import end_other_roles as _end_other_roles

_end_other_roles()

with _paused_collection():  # it would look through JAX's objects several times
    from . import (
        executor as executor,
        ndarray as nd,
        ndarray as ndarray,
        random as random,
        random as rnd,
        symbol as sym,
        symbol as symbol,
    )
    from .attribute import AttrScope as AttrScope
    from .context import (
        Context as Context,
        cpu as cpu,
        cpu_pinned as cpu_pinned,
        current_context as current_context,
        gpu as gpu,
        gpu_memory_info as gpu_memory_info,
        num_gpus as num_gpus,
        tpu as tpu,
    )
    from .errors import MXNetError as MXNetError
    from .executor import Executor as Executor
    from .libinfo import __version__ as __version__
    from .ndarray import NDArray as NDArray
    from .symbol import Symbol as Symbol
    from .util import (
        is_np_array as is_np_array,
        is_np_shape as is_np_shape,
        np_array as np_array,
        np_shape as np_shape,
        set_np_shape as set_np_shape,
        use_np as use_np,
        use_np_array as use_np_array,
        use_np_shape as use_np_shape,
    )

_find_aliased_modules()
_refuse_imports()
_promote_all_objects()

if TYPE_CHECKING:
    from . import (
        attribute as attribute,
        autograd as autograd,
        base as base,
        callback as callback,
        context as context,
        contrib as contrib,
        engine as engine,
        error as error,
        executor_manager as executor_manager,
        export as export,
        gluon as gluon,
        image as image,
        image as img,
        initializer as init,
        initializer as initializer,
        inspection as inspection,
        io as io,
        kvstore as kv,
        kvstore as kvstore,
        libinfo as libinfo,
        library as library,
        log as log,
        lowering as lowering,
        lr_scheduler as lr_scheduler,
        metric as metric,
        misc as misc,
        model as model,
        module as mod,
        module as module,
        monitor as mon,
        monitor as monitor,
        name as name,
        notebook as notebook,
        numpy as np,
        numpy as numpy,
        numpy_extension as npx,
        numpy_extension as numpy_extension,
        onnx as onnx,
        operator as operator,
        ops as ops,
        optimizer as optimizer,
        parallel as parallel,
        processes as processes,
        profiler as profiler,
        program as program,
        recordio as recordio,
        registry as registry,
        rnn as rnn,
        runtime as runtime,
        test_utils as test_utils,
        training as training,
        util as util,
        visualization as visualization,
        visualization as viz,
    )

    #: The version of executorkit; ``__version__`` is MXNet's, whose interfaces it serves.
    release: str
else:
    #: All other modules are imported when they are looked up; these have a second name.
    __getattr__, __dir__ = _lazy_modules(
        __name__,
        {
            "img": "image", "init": "initializer", "kv": "kvstore", "mod": "module",
            "mon": "monitor", "np": "numpy", "npx": "numpy_extension", "viz": "visualization",
        },
        {"release": lambda: _version("executorkit")},
    )  # fmt: skip
