"""``mx.profiler``: times of the nodes of compiled programs, recorded by ``jax.profiler``.

    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename="profile.json")
    mx.profiler.set_state("run")
    executor.forward(is_train=True)
    executor.backward()
    mx.nd.waitall()                                     # work that still runs is not recorded
    mx.profiler.set_state("stop")
    print(mx.profiler.dumps())                          # a table: time per node
    mx.profiler.timeline()                              # a picture: nodes over time
    mx.profiler.dump()                                  # profile.json, for ui.perfetto.dev

An event of category ``operator`` is one kernel of a compiled program. It carries the name of the
node that it was compiled from, ``fc1``, or ``fc1_backward`` for its gradient. XLA fuses nodes: a
kernel that computes several has the name of the last of them, and the others do not show. Where XLA
has lost the name (of a convolution whose axes it has put in another order, of copies), it is that
of a reader of its result. A kernel of no node (of a metric, say) has the name of its program.
"""

from ..errors import ProfilerError as ProfilerError
from ._annotations import (
    Counter as Counter,
    Domain as Domain,
    Event as Event,
    Frame as Frame,
    Marker as Marker,
    Task as Task,
    scope as scope,
)
from ._session import (
    dump as dump,
    dump_profile as dump_profile,
    dumps as dumps,
    is_recording as is_recording,
    pause as pause,
    profiler_set_config as profiler_set_config,
    profiler_set_state as profiler_set_state,
    resume as resume,
    set_config as set_config,
    set_state as set_state,
    timeline as timeline,
)
