"""``KVStoreBase``: the interface of key-value stores, for users who write one."""

import warnings
from typing import ClassVar, TypeVar

from ..errors import InputTypeError

Class = TypeVar("Class", bound=type)


class KVStoreBase:
    """The interface that ``Module.fit`` uses. Registered subclasses are made by name.

    @KVStoreBase.register
    class Mine(KVStoreBase): ...

    mx.kv.create("mine")
    """

    #: A capability: the store updates parameters with an optimizer.
    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, type]] = {}

    @staticmethod
    def register(klass: Class) -> Class:
        """Makes a class available to ``create`` under its lower-case name; a decorator."""
        if not isinstance(klass, type):
            raise InputTypeError("KVStoreBase.register", f"{klass!r} is not a class")
        name = klass.__name__.lower()
        former = KVStoreBase.kv_registry.get(name)
        if former is not None:
            old, new = (f"{c.__module__}.{c.__name__}" for c in (former, klass))
            warnings.warn(f"kvstore {name!r} was {old}, is now {new}", UserWarning, stacklevel=2)
        KVStoreBase.kv_registry[name] = klass
        return klass

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """Gives new keys the values of the first worker, and writes them to ``out``."""
        raise NotImplementedError(f"{type(self).__name__}.broadcast")

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """Writes the sums of values over devices and workers to ``out``, or to ``value``."""
        raise NotImplementedError(f"{type(self).__name__}.pushpull")

    def set_optimizer(self, optimizer: object) -> None:
        """Makes ``push`` update the stored arrays by an optimizer."""
        raise NotImplementedError(f"{type(self).__name__}.set_optimizer")

    def is_capable(self, capability: str) -> bool:
        """Returns True if the store has a capability, such as ``KVStoreBase.OPTIMIZER``."""
        raise NotImplementedError(f"{type(self).__name__}.is_capable")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Writes the states of the store's optimizer to a file."""
        raise NotImplementedError(f"{type(self).__name__}.save_optimizer_states")

    def load_optimizer_states(self, fname: str) -> None:
        """Reads the states of the store's optimizer from a file."""
        raise NotImplementedError(f"{type(self).__name__}.load_optimizer_states")

    @property
    def type(self) -> str:
        """The name that the store was made with."""
        raise NotImplementedError(f"{type(self).__name__}.type")

    @property
    def rank(self) -> int:
        """The number of this worker, counted from 0."""
        raise NotImplementedError(f"{type(self).__name__}.rank")

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        raise NotImplementedError(f"{type(self).__name__}.num_workers")
