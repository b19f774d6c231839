"""``import mxnet`` in a process that was started after :func:`executorkit.install_as_mxnet`."""

import sys

import executorkit

sys.modules["mxnet"] = executorkit  # in place of this file
executorkit.install_as_mxnet()
