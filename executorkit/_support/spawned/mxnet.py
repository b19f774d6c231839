"""``import mxnet`` in a process that was started after :func:`executorkit.install_as_mxnet`."""

import sys

from executorkit import install_as_mxnet

del sys.modules["mxnet"]  # this file; the import returns the entry of sys.modules at its end
install_as_mxnet()
