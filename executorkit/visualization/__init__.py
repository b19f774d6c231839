"""``mx.viz``: a network as a printed table and as a picture, as in MXNet.

``symbol.summary(data=...)`` says more than the table (memory, operations, the parameters of every
operator), and a symbol that is the last line of a notebook's cell draws itself.
"""

from typing import TYPE_CHECKING

from .._support.unserved import attribute_getter as _attribute_getter
from ._network_picture import NetworkPicture as NetworkPicture
from ._plot_network import plot_network as plot_network
from ._print_summary import print_summary as print_summary

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
