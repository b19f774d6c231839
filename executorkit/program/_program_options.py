"""Options of a program: compute dtype, and rematerialisation (values saved for backward)."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from .._support.annotations import Function, Raw
from ..errors import ArgumentValueError, UnknownArgumentError, did_you_mean
from ..jax_internals import debug_infs, debug_nans, disable_jit
from ..jaxprs import Trait, primitives_with
from ..lowering import Graph, GraphStep
from ..ops.nn.conv_kernels import WINOGRAD_SETTINGS, winograd_default
from ..profiler import is_recording

#: Primitives whose results ``remat="mirror"`` saves: they cost more to compute than to keep.
_COSTLY = primitives_with(Trait.PRODUCT)
#: The checkpoint name of values that are saved around mirrored steps.
_SAVED = "executorkit_saved"


@dataclass(frozen=True)
class Options:
    """Choices that change how a program computes, not its meaning.

    compute_dtype
        'bfloat16' or 'float16': float32 data and weights are cast to it inside the program;
        arguments, gradients, outputs and auxiliary states keep their types, so that the bound
        weights are the master weights. Labels and indices are not cast, nor the arguments that
        MXNet keeps in float32 beside half precision data (the scales and statistics of
        normalisation). None: as bound.
    remat
        the values that backward computes again instead of saving them: None (nothing, but for nodes
        with the attribute ``force_mirroring``), 'mirror' (everything but convolutions and products
        of matrices; as MXNET_BACKWARD_DO_MIRROR=1 asks for), 'full' (everything but the values that
        cross between segments, of which there are about as many as each has operators, or between
        the iterations of a recurrence), or a policy for ``jax.checkpoint``. On several CPU devices
        XLA saves everything nevertheless.
    interpret
        whether calls on one CPU device are computed by NumPy instead of a compiled program: None
        (the first calls with arguments of certain shapes, by a fixed count, where that is quicker
        than compiling or loading the program), False (never) or True (always, where the interpreter
        covers the program). The environment variable EXECUTORKIT_INTERPRET
        ('auto', '0', '1') says it where this is None. Both compute the same but for rounding.
    deterministic
        whether all runs are equal to the last bit, be they the first of a network, later ones,
        repeated in the same process or resumed from files: nothing is interpreted then, whatever
        ``interpret`` says. By default what the environment variable EXECUTORKIT_DETERMINISTIC says
        ('0', '1'), or False.
    prepare
        whether inference computes what depends on parameters alone once per set of parameters
        (folded normalisations, turned and packed weights), which takes memory for a copy of the
        weights: None (from the first call of an executor without gradients on, otherwise from the
        second with the same parameters, if these take 1 MiB or more), True (however small they are)
        or False (never). The environment variable EXECUTORKIT_PREPARE ('auto', '0', '1') says it
        where this is None. On CPUs where a C compiler is installed, convolutions of float32, in
        training too, are a kernel in C, built in the background and kept on disk, unless
        EXECUTORKIT_NATIVE is '0' or all runs are to be ``deterministic``. All compute the same but
        for rounding.
    shard_optimizer
        whether each device of a group, of all processes where these train together, holds and
        computes its part of the optimizer's state alone: a module with a store that sums, or a
        :class:`~executorkit.training.Step`, on equal slices. The gradients' sums are scattered,
        and the new parameters gathered (ZeRO's first stage: Rajbhandari et al., 2020). Files keep
        their format; where several processes train, all of them have to read or save the state
        together. Updates that look at more of a parameter than the element's place and reductions
        of the whole are computed whole, of state that is gathered for it.
    model_parallel
        number of devices that hold one replica of the parameters together: a group takes its
        contexts that many at a time, and gives each such row of devices a slice of the batch.
        Parameters and auxiliary states whose variable has the attribute ``__sharding__`` are
        divided among the devices of a row, with their gradients and the optimizer's state:
        'model,None' divides the first of two axes, 'None,model' the second. Of all other arrays,
        inputs and outputs included, each device has the whole. XLA derives the computation (Xu et
        al., GSPMD, 2021): a FullyConnected whose weight is 'model,None' and the next one, whose
        weight is 'None,model', exchange one sum (Shoeybi et al., Megatron-LM, 2019). With 1 the
        attribute has no effect.
    winograd
        the forms that convolutions with kernels of three rows may take on CPUs, where they pay:
        'auto' ('F4' in inference, 'exact' in training), 'exact' (the convolution as it is), 'F2'
        (two rows of the result at a time: two thirds of the multiplications) or 'F4' (four or two
        rows: half of them). The largest error, relative to the largest result in float32, stays
        under 1e-6, 1e-6 and 2e-6. By 'F2' and 'F4' an infinite or NaN element reaches all rows
        that are computed together with its own, and an exact zero beside large values may become
        a rounding error. By default the environment variable EXECUTORKIT_WINOGRAD, or 'auto'.
    """

    compute_dtype: str | None = None
    remat: str | Function | None = None
    interpret: bool | None = None
    deterministic: bool = field(default_factory=lambda: _deterministic_default())
    prepare: bool | None = None
    shard_optimizer: bool = False
    model_parallel: int = 1
    winograd: str = field(default_factory=winograd_default)

    def __post_init__(self) -> None:
        choices = (None, False, True)
        for name, allowed, expected in (
            ("compute_dtype", (None, "bfloat16", "float16"), "'bfloat16', 'float16' or None"),
            ("remat", (None, "mirror", "full"), "'mirror', 'full', a policy or None"),
            ("winograd", WINOGRAD_SETTINGS, ", ".join(map(repr, WINOGRAD_SETTINGS))),
            ("interpret", choices, "True, False or None"),
            ("prepare", choices, "True, False or None"),
            ("deterministic", choices[1:], "True or False"),
            ("shard_optimizer", choices[1:], "True or False"),
        ):
            value, is_remat = getattr(self, name), name == "remat"
            if value not in allowed and not (is_remat and callable(value)):
                hint = "policies are in jax.checkpoint_policies" if is_remat else None
                problem = f"{value!r}, expected {expected}"
                raise ArgumentValueError(f"options: {name}", problem, hint=hint)
        devices = self.model_parallel
        if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
            problem = f"{devices!r}, expected a number of devices, 1 or more"
            raise ArgumentValueError("options: model_parallel", problem)
        if devices > 1 and self.shard_optimizer:
            raise ArgumentValueError(
                "options: model_parallel",
                "it cannot be combined with shard_optimizer",
                because="the states of divided parameters are divided as these are",
                hint="__sharding__ on the variables whose states are large",
            )


_shared_options = lru_cache(maxsize=16)(Options)
_current: ContextVar[Options | None] = ContextVar("executorkit_options", default=None)


def current_options() -> Options:
    """Returns the options that a bind takes at this point of the program."""
    chosen = _current.get()
    if chosen is not None:
        return chosen
    remat = "mirror" if os.environ.get("MXNET_BACKWARD_DO_MIRROR", "0") not in ("", "0") else None
    deterministic, winograd = _deterministic_default(), winograd_default()
    return _shared_options(remat=remat, deterministic=deterministic, winograd=winograd)


def interpreter_enabled() -> bool:
    """Tells whether NumPy may compute calls: no debugging setting of JAX, no profiler and no option
    of this context asks for compiled programs."""
    if debug_nans.value or debug_infs.value or disable_jit.value or is_recording():
        return False
    present = _current.get()
    return present is None or not (present.deterministic or present.interpret is False)


def _deterministic_default() -> bool:
    return bool(chosen(None, "EXECUTORKIT_DETERMINISTIC"))


@contextmanager
def options(**choices: Any) -> Iterator[Options]:
    """Sets options for everything bound in this context: executors, groups, modules, steps.

        with mx.program.options(compute_dtype="bfloat16", remat="mirror"):
            executor = net.simple_bind(mx.cpu(), data=(32, 3, 224, 224))

    See :class:`Options`. Raises ArgumentValueError (a ValueError) for a value that an option does
    not take, UnknownArgumentError (a TypeError) for a name that none has.
    """
    names = [option.name for option in fields(Options)]
    for name in choices:
        if name not in names:
            hint = did_you_mean(name, names)
            raise UnknownArgumentError("options", f"unknown option {name!r}", hint=hint)
    with use_options(replace(current_options(), **choices)) as chosen:
        yield chosen


@contextmanager
def use_options(chosen: Options) -> Iterator[Options]:
    """Has everything bound in this context compute with these options."""
    token = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)


@contextmanager
def options_from_arguments(
    compute_dtype: Any, remat: Any, default: Options | None = None
) -> Iterator[Options]:
    """Sets :func:`options` from the arguments of a bind. None leaves the choice to the context, and
    without one to ``default``, the options of an array holder that is already bound."""
    arguments = {"compute_dtype": compute_dtype, "remat": remat}
    choices = {name: value for name, value in arguments.items() if value is not None}
    with use_options(replace(_current.get() or default or current_options(), **choices)) as chosen:
        yield chosen


@lru_cache(maxsize=512)
def mirrored_steps(graph: Graph) -> frozenset[int]:
    """Returns the indices of the steps that backward computes again: ``force_mirroring``."""
    attrs = {step.index: step.node.attrs for step in graph.steps}
    keys = "__force_mirroring__", "force_mirroring"
    texts = {i: a.get(keys[0], a.get(keys[1], "")) for i, a in attrs.items()}
    return frozenset(i for i, text in texts.items() if text.lower() in ("true", "1"))


def checkpoint_policy(remat: str | Function | None) -> Function:
    """Returns the policy for ``jax.checkpoint``; None saves marks of :func:`save_all_but`."""
    policies = jax.checkpoint_policies
    if remat is None:
        return policies.save_only_these_names(_SAVED)
    if remat == "mirror":
        return lambda primitive, *_, **__: primitive.name in _COSTLY
    return policies.nothing_saveable if remat == "full" else remat  # type: ignore[return-value]


def save_all_but(
    mirrored: frozenset[int], graph: Graph
) -> Callable[[GraphStep, list[Raw]], list[Raw]]:
    """Returns an observer that marks the results of steps that are not mirrored, to be saved."""
    producer = {number: s.index for s in graph.steps for number in s.outputs}
    marked: dict[int, tuple[Any, Any]] = {}

    def observe(step: GraphStep, inputs: list[Raw]) -> list[Raw]:
        marked_inputs = list(inputs)
        for k, (number, x) in enumerate(zip(step.inputs, inputs, strict=True)):
            if producer.get(number, -1) in mirrored or number not in producer:
                continue
            if number not in marked or marked[number][0] is not x:
                marked[number] = x, checkpoint_name(x, _SAVED)
            marked_inputs[k] = marked[number][1]
        return marked_inputs

    return observe


@jax.custom_vjp
def _scale_gradient(x: jax.Array, scale: jax.Array) -> jax.Array:
    return x


def _scale_gradient_backward(scale: jax.Array, g: jax.Array) -> tuple[jax.Array, jax.Array]:
    return (g.astype(scale.dtype) * scale).astype(g.dtype), jnp.zeros_like(scale)


_scale_gradient.defvjp(lambda x, scale: (x, scale), _scale_gradient_backward)


def scale_losses(scale: Raw) -> Callable[[GraphStep, list[Raw]], list[Raw]]:
    """Returns an observer that scales gradients of loss operators, which ignore head gradients."""

    def observe(step: GraphStep, inputs: list[Raw]) -> list[Raw]:
        if not step.op.loss(step.params):
            return inputs
        floating = jnp.issubdtype(inputs[0].dtype, jnp.inexact)
        return [_scale_gradient(inputs[0], scale), *inputs[1:]] if floating else inputs

    return observe


# -- settings of the environment -------------------------------------------------------------------

_CHOICES = {"0": False, "1": True, "auto": None, "": None}


def chosen(option: bool | None, variable: str) -> bool | None:
    """Returns an option of a program, or the variable's where it is None: True (always), False
    (never), None (where it pays)."""
    if option is not None:
        return option
    text = os.environ.get(variable, "auto")
    if text not in _CHOICES:
        problem = f"{text!r}, expected '0' (never), '1' (always) or 'auto'"
        raise ArgumentValueError(variable, problem)
    return _CHOICES[text]


def bytes_of(variable: str, default: int, may_be_zero: bool = False) -> int:
    """Returns a variable's number of bytes; ArgumentValueError for other texts, or a useless 0."""
    text = os.environ.get(variable, str(default))
    if not text.isdecimal() or not (may_be_zero or int(text)):
        least = "" if may_be_zero else " above 0"
        raise ArgumentValueError(variable, f"{text!r}, expected a number of bytes{least}")
    return int(text)
