"""Helpers of all layers that know nothing of arrays or graphs; MXNet has no modules for them."""
