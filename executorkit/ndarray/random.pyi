# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.ndarray._ndarray import NDArray
__all__ = ['exponential', 'gamma', 'generalized_negative_binomial', 'multinomial', 'negative_binomial', 'normal', 'poisson', 'randint', 'randn', 'shuffle', 'uniform']
from typing import Any
from .._support.annotations import DType, Function
from ..calls.ways import call, invoke
from ..ops import lookup
from ..ops.schema.calls import numpy_dtype_name
from ..symbol.distributions import DISTRIBUTIONS, Distribution, sampler
from ._array_operators import array_module
from ._creation import without_node_attributes
from ._ndarray import NDArray
def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def exponential(scale: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def poisson(lam: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def randint(low: Any, high: Any, shape: Any = None, dtype: Any = Ellipsis, ctx: Any = None, out: Any = None, **kwargs: Any) -> Any: ...
def randn(*shape: int, **kwargs: Any) -> Any:
    ...
def multinomial(data: NDArray, shape: Any=None, get_prob: bool=False, out: Any=None, dtype: DType='int32', **kwargs: Any) -> Any:
    ...
def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    ...

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None

def exponential_like(data: NDArray | None = None, lam: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Exponentially distributed numbers with rate lam (mean 1 / lam)."""
def gamma_like(data: NDArray | None = None, alpha: float = 1.0, beta: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Gamma distributed numbers with shape alpha and scale beta (mean alpha beta)."""
def generalized_negative_binomial_like(data: NDArray | None = None, mu: float = 1.0, alpha: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Negative binomial numbers with mean mu and dispersion alpha (variance mu + alpha mu^2)."""
def negative_binomial_like(data: NDArray | None = None, k: int = 1, p: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Numbers of failures before success k, where each trial succeeds with probability p."""
def normal_like(data: NDArray | None = None, loc: float = 0.0, scale: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Normally distributed numbers with mean loc and standard deviation scale."""
def pdf_dirichlet(sample: NDArray | None = None, alpha: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: gamma(sum of alpha) / product of gamma(alpha) times the product of x^(alpha - 1), over the last axis, which the result does not have."""
def pdf_exponential(sample: NDArray | None = None, lam: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: lam exp(-lam x)."""
def pdf_gamma(sample: NDArray | None = None, alpha: NDArray | None = None, beta: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: beta^alpha x^(alpha - 1) exp(-beta x) / gamma(alpha): beta is a rate here, where the sampler's beta is a scale."""
def pdf_generalized_negative_binomial(sample: NDArray | None = None, mu: NDArray | None = None, alpha: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: the density of the negative binomial with k = 1 / alpha and p = 1 / (mu alpha + 1). sample holds integers, as floating numbers, and gets zero gradient."""
def pdf_negative_binomial(sample: NDArray | None = None, k: NDArray | None = None, p: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: gamma(x + k) / (x! gamma(k)) p^k (1 - p)^x. sample holds integers, as floating numbers, and gets zero gradient."""
def pdf_normal(sample: NDArray | None = None, mu: NDArray | None = None, sigma: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: exp(-((x - mu) / sigma)^2 / 2) / (sqrt(2 pi) sigma)."""
def pdf_poisson(sample: NDArray | None = None, lam: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: lam^x exp(-lam) / x!. sample holds integers, as floating numbers, and gets zero gradient."""
def pdf_uniform(sample: NDArray | None = None, low: NDArray | None = None, high: NDArray | None = None, is_log: bool = False, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""The density of each x in sample: 1 / (high - low), wherever x lies."""
def poisson_like(data: NDArray | None = None, lam: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Poisson distributed numbers with mean lam."""
def uniform_like(data: NDArray | None = None, low: float = 0.0, high: float = 1.0, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Uniformly distributed numbers in [low, high)."""
def __getattr__(name: str) -> _Callable[..., _Any]: ...
