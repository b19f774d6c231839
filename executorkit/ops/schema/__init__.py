"""The schema of operators: definitions, attributes, inference rules, calls. No jax in here.

``operator_registry`` holds :class:`OpDef` and :func:`register`, ``attrs`` the parsers of
attributes, ``inference`` the facts and rules of shapes and types, ``traits`` the properties that
passes ask for, ``channels_last`` the layout rules, ``calls`` the signatures of ``mx.sym.X`` and
``mx.nd.X``, ``subgraph_bodies`` the interface of loop bodies, ``unsupported`` the reasons why an
operator of MXNet is not supported.
"""
