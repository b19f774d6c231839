"""Densities and their logarithms: one draw and many from each distribution, in and out of range."""

from __future__ import annotations

from ._case import Case, Spec, integers, uniform, values

PARAMETERS = {
    "uniform": {"low": uniform(2), "high": uniform(2, low=2, high=3)},
    "normal": {"mu": uniform(2, low=-1), "sigma": uniform(2, low=0.5)},
    "gamma": {"alpha": uniform(2, low=0.5, high=3), "beta": uniform(2, low=0.5, high=2)},
    "exponential": {"lam": uniform(2, low=0.5, high=2)},
    "poisson": {"lam": uniform(2, low=0.5, high=4)},
    "negative_binomial": {"k": values([3.0, 1.0]), "p": uniform(2, low=0.2, high=0.8)},
    "generalized_negative_binomial": {
        "mu": uniform(2, low=0.5, high=4),
        "alpha": uniform(2, low=0.2, high=2),
    },
}
DISCRETE = ("poisson", "negative_binomial", "generalized_negative_binomial")


def cases(stem: str, parameters: dict[str, Spec]) -> list[Case]:
    op = f"random_pdf_{stem}"

    def sample(*shape: int) -> Spec:
        whole = stem in DISCRETE
        return integers(*shape, high=6) if whole else uniform(*shape, low=0.1, high=4)

    loose = {"rtol": 5e-5, "rtol64": 1e-5, "why": "MXNet's gamma functions are less exact"}
    return [
        Case(stem, op, {"sample": sample(2, 3), **parameters}, also=("float64",), **loose),
        Case(f"{stem}_log", op, {"sample": sample(2, 3), **parameters}, {"is_log": True},
             also=("float64",), **loose),
        Case(f"{stem}_one", op, {"sample": sample(2), **parameters}, **loose),
        Case(f"{stem}_many", op, {"sample": sample(2, 2, 2), **parameters}, **loose),
    ]  # fmt: skip


_SIMPLEX = [[[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], [[0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]]
_ALPHA = uniform(2, 3, low=0.5, high=3)
CASES = [case for stem, specs in PARAMETERS.items() for case in cases(stem, specs)] + [
    Case("dirichlet", "random_pdf_dirichlet", {"sample": values(_SIMPLEX), "alpha": _ALPHA},
         also=("float64",), rtol=5e-5, rtol64=1e-5, why="MXNet's gamma functions are less exact"),
    Case("dirichlet_log", "random_pdf_dirichlet", {"sample": values(_SIMPLEX), "alpha": _ALPHA},
         {"is_log": True}, rtol=5e-5, why="MXNet's gamma functions are less exact"),
    Case("normal_vector", "random_pdf_normal",
         {"sample": uniform(1), "mu": values([0.0]), "sigma": values([1.0])}, also=("float16",)),
]  # fmt: skip
