"""``mx.runtime``: capabilities of this installation, under MXNet's names.

if mx.runtime.Features().is_enabled("CUDA"): ...
"""

from collections import OrderedDict
from dataclasses import dataclass
from importlib.util import find_spec

from .context import num_gpus
from .errors import UnknownNameError, did_you_mean

#: MXNet's names of capabilities, in its order.
_NAMES = (
    "CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3",
    "CPU_SSE4_1", "CPU_SSE4_2", "CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C",
    "JEMALLOC", "BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV",
    "CAFFE", "PROFILER", "DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE", "SIGNAL_HANDLER", "DEBUG",
    "TVM_OP",
)  # fmt: skip


@dataclass(frozen=True)
class Feature:
    """One capability: its name, and True in ``enabled`` if this installation has it."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """Returns every capability that MXNet names.

    CUDA, CUDNN and NCCL are enabled if JAX sees a GPU, OPENCV if it is installed, LAPACK
    (``linalg``) and PROFILER always. XLA chooses the instruction sets of CPUs when it compiles;
    they are not listed as enabled.
    """
    gpu = num_gpus() > 0
    enabled = {
        "CUDA": gpu,
        "CUDNN": gpu,
        "NCCL": gpu,
        "LAPACK": True,
        "OPENCV": find_spec("cv2") is not None,
        "PROFILER": True,
    }
    return [Feature(name, enabled.get(name, False)) for name in _NAMES]


class Features(OrderedDict[str, Feature]):
    """The capabilities by name."""

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Returns True for an enabled capability, in any capitals; RuntimeError (UnknownNameError)
        for an unknown name."""
        name = feature_name.upper()
        if name not in self:
            problem = f"unknown feature {name!r}"
            raise UnknownNameError("Features", problem, hint=did_you_mean(name, self))
        return self[name].enabled
