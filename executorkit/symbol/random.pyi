# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, TypedDict as _TypedDict, Unpack as _Unpack
import numpy as _np
from executorkit.symbol._symbol import Symbol
__all__ = ['exponential', 'gamma', 'generalized_negative_binomial', 'multinomial', 'negative_binomial', 'normal', 'poisson', 'randint', 'randn', 'shuffle', 'uniform']
from collections.abc import Callable
from typing import Any
from .._support.annotations import DType
from ..ops.schema.calls import numpy_dtype_name
from ._compose import require_operator
from ._symbol import Symbol, call_operator
from ._symbol_functions import symbol_module
from .distributions import DISTRIBUTIONS, Distribution, sampler
def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def exponential(scale: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def poisson(lam: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def randint(low: Any, high: Any, shape: Any = None, dtype: Any = Ellipsis, **kwargs: Any) -> Any: ...
def randn(*shape: int, loc: Any=0, scale: Any=1, dtype: Any=..., **kwargs: Any) -> Symbol:
    ...
def multinomial(data: Symbol, shape: Any=None, get_prob: bool=True, dtype: DType='int32', **kwargs: Any) -> Symbol:
    ...
def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    ...

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None
_NodeAttributes = _TypedDict('_NodeAttributes', {'lr_mult': float | str, '__lr_mult__': float | str, 'wd_mult': float | str, '__wd_mult__': float | str, 'ctx_group': str, '__ctx_group__': str, 'mirror_stage': str | int, '__mirror_stage__': str | int, 'force_mirroring': str | bool, '__force_mirroring__': str | bool}, total=False)

def exponential_like(data: Symbol | None = None, lam: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def gamma_like(data: Symbol | None = None, alpha: float = 1.0, beta: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def generalized_negative_binomial_like(data: Symbol | None = None, mu: float = 1.0, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def negative_binomial_like(data: Symbol | None = None, k: int = 1, p: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def normal_like(data: Symbol | None = None, loc: float = 0.0, scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Normally distributed numbers with mean loc and standard deviation scale."""
def pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: gamma(sum of alpha) / product of gamma(alpha) times the product of x^(alpha - 1), over the last axis, which the result does not have."""
def pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: lam exp(-lam x)."""
def pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: beta^alpha x^(alpha - 1) exp(-beta x) / gamma(alpha): beta is a rate here, where the sampler's beta is a scale."""
def pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: the density of the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1). sample holds integers, as floating numbers, and gets zero gradient."""
def pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: gamma(x + k) / (x! gamma(k)) p^k (1 - p)^x. sample holds integers, as floating numbers, and gets zero gradient."""
def pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: exp(-((x - mu) / sigma)^2 / 2) / (sqrt(2 pi) sigma)."""
def pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: lam^x exp(-lam) / x!. sample holds integers, as floating numbers, and gets zero gradient."""
def pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""The density of each x in sample: 1 / (high - low), wherever x lies."""
def poisson_like(data: Symbol | None = None, lam: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Poisson distributed numbers with mean lam."""
def uniform_like(data: Symbol | None = None, low: float = 0.0, high: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Uniformly distributed numbers in [low, high)."""
def __getattr__(name: str) -> _Callable[..., Symbol]: ...
