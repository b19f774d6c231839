"""``mx.viz``: a network as a printed table and as a picture, as in MXNet.

    mx.viz.print_summary(net, shape={"data": (1, 3, 224, 224)})
    mx.viz.plot_network(net, shape={"data": (1, 3, 224, 224)})

``symbol.summary(data=...)`` says more than the table (memory, operations, the parameters of every
operator), and a symbol that is the last line of a notebook's cell draws itself.
"""

from ._network_picture import NetworkPicture
from ._plot_network import plot_network
from ._print_summary import print_summary

__all__ = ["NetworkPicture", "plot_network", "print_summary"]
