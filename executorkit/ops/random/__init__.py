"""Random samplers and densities."""

from . import (  # noqa: F401 - importing a family registers its operators
    densities,
    distributions,
    hawkes_process,
    samplers,
)
