"""Updates of parameters as operators (``sgd_update``, ...)."""

from . import (  # noqa: F401 - importing a family registers its operators
    adaptive_updates,
    layerwise_updates,
    multi_tensor,
    sgd_updates,
    update_common,
)
