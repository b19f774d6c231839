"""Layers, operation counts and the tables of work of a network and of a program."""

from .layers import Layer as Layer
from .network_summary import Summary as Summary
from .node_cost import Cost as Cost, NodeCost as NodeCost, cost_of as cost_of
