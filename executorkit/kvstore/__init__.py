"""``mx.kv`` / ``mx.kvstore``: arrays by key, shared by the devices and the processes that train.

    store = mx.kv.create("device")
    store.init("fc_weight", weight)
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.1))
    store.push("fc_weight", [grad_of_device_0, grad_of_device_1])     # summed, then the optimizer
    store.pull("fc_weight", out=[weight_of_device_0, weight_of_device_1])

The names of stores:

``local``, ``local_update_cpu``, ``local_allreduce_cpu``
    one process; sums and updates on the device of the array that ``init`` was given, mostly the
    CPU.
``device``, ``local_allreduce_device``, ``nccl``
    one process; sums and updates on the device of the first array that is pushed.
``dist``, ``dist_sync``, ``dist_async``, ``dist_device_sync``, ``dist_sync_device``,
``dist_device_async``
    sums over the processes of the job too, which all have to push the same keys in the same
    order, and wait for each other. Every process makes the same update, without servers. The
    asynchronous ones are synchronous here.

Several machines
----------------

``kv.create("dist_sync")`` joins the processes of the job, and prints one line about it. Call it
before anything else uses JAX: before the first array, iterator or ``mx.gpu``. In jobs of the
launchers below, the first use of a device joins them already. Each process takes its part of the
data (``num_parts=kv.num_workers, part_index=kv.rank`` of iterators of files).

==================  ==============================================================================
where               started by
==================  ==============================================================================
one host            ``executorkit launch -n 4 train.py --kv-store dist_sync``
hosts with ssh      ``executorkit launch -n 8 -H hosts train.py ...``, a host per line of the file
MXNet's launcher    ``launch.py -n 4 -s 4 --launcher local python train.py ...``: the ``DMLC_*``
                    variables; servers and the scheduler end when they import executorkit
Slurm               ``srun -n 8 python train.py ...``
Open MPI            ``mpirun -n 8 python train.py ...``; with Open MPI 5 and other MPIs with
                    ``JAX_COORDINATOR_ADDRESS=HOST:PORT`` of rank 0 in the environment
Kubernetes          an indexed job with a headless service, and ``pip install 'jax[k8s]'``
by hand             ``EXECUTORKIT_ADDRESS=HOST:PORT``, ``EXECUTORKIT_NUM_PROCESSES=8`` and
                    ``EXECUTORKIT_RANK=0`` (1, ...); or ``jax.distributed.initialize(...)``
==================  ==============================================================================

``Module``, ``FeedForward`` and ``gluon.Trainer`` (with any ``dist_*`` store) and ``training.Step``
take each step together with all processes: forward, backward, the sums over all devices and the
update are one program. All begin with the parameters, auxiliary states and loaded optimizer states
of rank 0 (a trainer's optimizer states are each process's own), and all must take the same steps.
Everything else is this process's alone, at any time: reading parameters, saving, scoring. An epoch
of ``fit`` ends for all once one has no batch left (a warning says so). Auxiliary states become the
means over all devices in each step; in Gluon each device keeps its own. Parameters are compared
every 100 steps and after an epoch: an error names a rank that differs. When a process fails, all
others end within seconds with an error that names it and the newest checkpoint; on SIGTERM all stop
after the same step, ``fit`` calls the epoch's callbacks, ``Step`` makes its last checkpoint again,
and the status is 143. Stores that compress gradients, and scripts that push and pull, sum in the
store, one message for each call; give a store lists of keys.

With ``mx.program.options(shard_optimizer=True)`` around bind, each of n devices holds and updates
1/n of the optimizer's state of a module or a step, in the same program; files keep their format.
All processes have to save the state together (``save_optimizer_states``,
``save_checkpoint(..., True)``, ``Step.save``): a process that asks alone gets an error after a
minute (``EXECUTORKIT_MEET_SECONDS``). With two processes parameters equal an unsharded run's to the
last bit, with more except for the order of sums.

Several processes that this one cannot join are an MXNetError, which names the missing variable.
Without a starter there is one worker (MXNet refuses to start without its launcher).

Other names are classes registered with :meth:`KVStoreBase.register`, such as ``teststore``, which
only sums; or an error (MXNet takes any name for ``local``). Modules give such stores lists of
NDArrays. Sparse storage is not served.
"""

from typing import TYPE_CHECKING

from .._support.lazy_modules import lazy_modules as _lazy_modules
from ..errors import KVStoreError as KVStoreError
from .aggregation import Aggregation as Aggregation, choose_store as choose_store

if TYPE_CHECKING:
    from . import base as base, kvstore as kvstore, kvstore_server as kvstore_server
    from ._kvstore import KVStore as KVStore, create as create
    from ._kvstore_base import KVStoreBase as KVStoreBase
    from .kvstore_server import KVStoreServer as KVStoreServer
else:
    #: One device trains without a store.
    __getattr__, __dir__ = _lazy_modules(__name__)
