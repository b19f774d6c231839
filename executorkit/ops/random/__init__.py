"""Random samplers and densities."""

from . import densities, hawkes_process, samplers, sampling_functions
