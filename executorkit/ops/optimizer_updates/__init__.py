"""Updates of parameters as operators (``sgd_update``, ...)."""

from . import adaptive_updates, layerwise_updates, multi_tensor, sgd_updates, update_common
