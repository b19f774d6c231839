"""Activation and LeakyReLU, every type."""

from __future__ import annotations

from ._case import Case, normal, uniform, values

MORE = ("float16", "float64")
INFINITE = values([[-float("inf"), -1.0], [1.0, float("inf")]])
EDGES = values([[-100.0, -25.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 25.0, 60.0]])
SINGLE = "MXNet keeps the constants in float32"

CASES = [
    *(
        Case(f"Activation_{kind}{suffix}", "Activation", {"data": data}, {"act_type": kind},
             also=MORE if not suffix else ())
        for kind in ("relu", "sigmoid", "softrelu", "softsign", "tanh")
        for suffix, data in (("", normal(3, 4, 2)), ("_edges", EDGES))
    ),
    *(
        Case(f"LeakyReLU_{kind}{suffix}", "LeakyReLU", {"data": data}, {"act_type": kind},
             also=MORE if not suffix else (), rtol64=1e-6, why=SINGLE)
        for kind in ("leaky", "elu", "selu", "gelu")
        for suffix, data in (("", normal(3, 4, 2)), ("_edges", EDGES))
    ),
    Case("LeakyReLU_slope", "LeakyReLU", {"data": EDGES}, {"slope": 0.1}),
    Case("LeakyReLU_slope_0", "LeakyReLU", {"data": normal(7)}, {"slope": 0.0}),
    Case("LeakyReLU_elu_slope", "LeakyReLU", {"data": EDGES}, {"act_type": "elu", "slope": 1.0}),
    Case("LeakyReLU_prelu", "LeakyReLU", {"data": normal(2, 3, 4, 2), "gamma": uniform(3)},
         {"act_type": "prelu"}, also=MORE, rtol64=1e-6, why=SINGLE),
    Case("LeakyReLU_prelu_matrix", "LeakyReLU", {"data": normal(4, 3), "gamma": uniform(3)},
         {"act_type": "prelu"}),
    Case("LeakyReLU_prelu_shared", "LeakyReLU", {"data": normal(2, 3, 4), "gamma": uniform(1)},
         {"act_type": "prelu"}),
    *(
        Case(f"LeakyReLU_prelu_{'x'.join(map(str, gamma))}_of_{'x'.join(map(str, data))}",
             "LeakyReLU", {"data": normal(*data), "gamma": uniform(*gamma)}, {"act_type": "prelu"})
        for data, gamma in (
            ((2, 3, 4), (1, 3)), ((2, 3, 4), (2, 3)), ((2, 3, 4), (2, 1)), ((2, 3, 4), (1, 1)),
            ((2, 3, 4), (2,)), ((2, 3), (2, 3)), ((2, 3), (2,)), ((3,), (3,)),
            ((2, 4, 3, 5), (2, 4)),
        )
    ),
    Case("Activation_softsign_infinite", "Activation", {"data": INFINITE},
         {"act_type": "softsign"}, also=MORE),
    Case("LeakyReLU_prelu_infinite", "LeakyReLU",
         {"data": values([[-2.0, -1.0], [1.0, float("inf")]]), "gamma": uniform(2)},
         {"act_type": "prelu"}, also=MORE, rtol64=1e-6, why=SINGLE),
    Case("LeakyReLU_prelu_zero", "LeakyReLU", {"data": values([[0.0, -1.0]]),
         "gamma": values([0.25, 0.5])}, {"act_type": "prelu"}),
]  # fmt: skip
