"""Jaxprs: the only package that reads their equations."""

from .flat_program import (
    FlatProgram as FlatProgram,
    FlatValue as FlatValue,
    Operation as Operation,
    flat_program as flat_program,
)
from .flatten import (
    Flattener as Flattener,
    bodies as bodies,
    needed as needed,
    output_ids as output_ids,
)
from .primitives import (
    COUNTED as COUNTED,
    Trait as Trait,
    flops as flops,
    primitives_with as primitives_with,
)
from .symbolic_sizes import (
    ForAnySizes as ForAnySizes,
    Size as Size,
    SymbolicSizes as SymbolicSizes,
    is_symbolic as is_symbolic,
    size_kinds as size_kinds,
)
