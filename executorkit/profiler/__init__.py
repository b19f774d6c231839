"""``mx.profiler``: times of the nodes of compiled programs, recorded by ``jax.profiler``.

    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename="profile.json")
    mx.profiler.set_state("run")
    executor.forward(is_train=True)
    mx.nd.waitall()                 # work that still runs is not recorded
    mx.profiler.set_state("stop")
    print(mx.profiler.dumps())      # a table: time per node
    mx.profiler.timeline()          # a picture: nodes over time
    mx.profiler.dump()              # profile.json, for ui.perfetto.dev

An event of category ``operator`` is one kernel of a compiled program, with the name of its node,
``fc1``, or ``fc1_backward`` for its gradient. A kernel of several fused nodes has the name of the
last. Where XLA has lost the name (of a transposed convolution, of copies), the name is a reader's.
A kernel without a node (of a metric, say) has the name of its program.
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
