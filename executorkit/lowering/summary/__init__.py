"""Layers, operation counts and the tables of work of a network and of a program."""

from .layers import Layer
from .network_summary import Summary
from .node_cost import Cost, NodeCost, cost_of

__all__ = ["Cost", "Layer", "NodeCost", "Summary", "cost_of"]
