"""The profiler's state, configuration and public functions."""

import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import jax

from .._files import write_atomically
from ..errors import ProfilerError
from ._annotations import long_spans
from ._profile_report import SORT_KEYS, ProfileTimeline, as_json, as_table, as_trace, statistics
from ._xspace import Record, Recording, span_record

_FLAGS = (
    "profile_all", "profile_symbolic", "profile_imperative", "profile_memory", "profile_api",
    "continuous_dump", "aggregate_stats",
)  # fmt: skip
_OTHERS = ("filename", "dump_period", "profile_process", "trace_dir")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_PROCESSES = ("worker", "server")


class Profiler:
    def __init__(self) -> None:
        self.config: dict[str, Any] = {"filename": "profile.json", **dict.fromkeys(_FLAGS, False)}
        self.state = "stop"
        #: File of the recording in progress.
        self.folder: str | None = None
        self._records: list[Record] = []
        #: The number of records that :func:`dumps` has forgotten; :func:`dump` writes all.
        self._n_forgotten = 0
        self._started = False
        self._finished = False

    def start(self) -> None:
        if self.folder is not None:
            return
        folder = tempfile.mkdtemp(prefix="executorkit-profile-")
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        try:
            jax.profiler.start_trace(folder, profiler_options=options)
        except RuntimeError as error:
            shutil.rmtree(folder)
            raise ProfilerError("profiler", f"JAX cannot trace: {error}") from None
        if self._finished:
            self._records, self._n_forgotten = [], 0
        self.folder, self._started, self._finished = folder, True, False
        long_spans.began = time.time_ns()

    def stop(self) -> None:
        folder, self.folder = self.folder, None
        if folder is None:
            return
        try:
            jax.profiler.stop_trace()
            for path in sorted(Path(folder).rglob("*.xplane.pb")):
                self._records += Recording(path).records()
            self._records += map(span_record, long_spans.ended)
            if "trace_dir" in self.config:
                shutil.copytree(folder, self.config["trace_dir"], dirs_exist_ok=True)
        finally:
            shutil.rmtree(folder)
            long_spans.began, long_spans.ended = 0, []

    def collect(self) -> None:
        if self.folder is not None:
            self.stop()
            self.start()

    def finish(self) -> None:
        self.stop()
        self.state = "stop"
        self._finished = True

    def require_run(self) -> None:
        if not self._started or self._finished:
            raise ProfilerError("dump", "nothing was recorded", hint='set_state("run") first')

    def forget(self) -> None:
        self._n_forgotten = len(self._records)

    def records(self, *, forgotten: bool = True) -> list[Record]:
        api = self.config["profile_api"] or self.config["profile_all"]
        recorded = self._records if forgotten else self._records[self._n_forgotten :]
        return sorted([r for r in recorded if api or r.category != "api"], key=lambda r: r.begin)


_profiler = Profiler()


def is_recording() -> bool:
    """Returns True while the profiler records kernels of compiled programs."""
    return _profiler.folder is not None


def set_config(**kwargs: object) -> None:
    """Configures the profiler by keyword arguments; options left out stay as they are.

    filename
        The file that :func:`dump` writes; 'profile.json' by default.
    aggregate_stats
        Whether :func:`dumps` reports statistics; otherwise it returns an empty text.
    profile_api, profile_all
        Whether the host's work is recorded as well: dispatch, compilation, transfers.
    profile_symbolic, profile_imperative, profile_memory, continuous_dump, dump_period,
    profile_process
        Without effect: kernels are always recorded, memory never (see ``executor.program``), and
        :func:`dump` alone writes files.
    trace_dir
        A folder that keeps JAX's own trace, for TensorBoard and XProf. Not in MXNet.

    Raises MXNetError for other names, and for flags that are not true or false.
    """
    checked = {}
    for name, value in kwargs.items():
        if name not in (*_FLAGS, *_OTHERS):
            known = " or ".join((*_FLAGS, *_OTHERS))
            raise ProfilerError("set_config", f"unknown option {name!r}", hint=known)
        if name in _FLAGS:
            if str(value).lower() not in _TRUTH:
                raise ProfilerError(f"set_config: {name}", f"{value!r}, expected True or False")
            value = _TRUTH[str(value).lower()]
        checked[name] = value
    _profiler.config.update(checked)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts the profiler ('run') or stops it ('stop'); KeyError for anything else.

    ``profile_process`` ('worker' or 'server') has no effect. Call ``mx.nd.waitall()`` before the
    profiler stops: work that still runs on a device is not recorded. MXNetError while another JAX
    trace is running.
    """
    _check_choice(profile_process, _PROCESSES, "set_state: profile_process")
    _check_choice(state, ("stop", "run"), "set_state")
    (_profiler.start if state == "run" else _profiler.stop)()
    _profiler.state = state


def pause(profile_process: str = "worker") -> None:
    """Records nothing until :func:`resume`."""
    _check_choice(profile_process, _PROCESSES, "pause: profile_process")
    _profiler.stop()


def resume(profile_process: str = "worker") -> None:
    """Goes on after :func:`pause`; does nothing if the profiler was not set to run."""
    _check_choice(profile_process, _PROCESSES, "resume: profile_process")
    if _profiler.state == "run":
        _profiler.start()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes everything recorded so far to ``filename``, whole or not at all: JSON in the Trace
    Event Format, for chrome://tracing and ui.perfetto.dev.

    ``finished`` stops the profiler, and the next run begins a new record. MXNetError if the
    profiler has not run since the last finished dump.
    """
    _check_choice(profile_process, _PROCESSES, "dump: profile_process")
    _profiler.require_run()
    (_profiler.finish if finished else _profiler.collect)()
    text = as_trace(_profiler.records())
    write_atomically(str(_profiler.config["filename"]), [text.encode()], durable=False)


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """Returns counts and times of everything that ran so far, by category and name; empty without
    ``set_config(aggregate_stats=True)``.

    reset
        Whether the statistics begin again afterwards; :func:`dump` still writes everything.
    format
        'table' or 'json'.
    sort_by, ascending
        The order of names, 'total', 'avg', 'min', 'max' or 'count', and whether it ascends.

    Raises AssertionError for anything else.
    """
    _check_choice(format, ("table", "json"), "dumps: format")
    _check_choice(sort_by, SORT_KEYS, "dumps: sort_by")
    _check_choice(ascending, (False, True), "dumps: ascending")
    _check_choice(reset, (False, True), "dumps: reset")
    if not _profiler.config["aggregate_stats"]:
        return ""
    _profiler.collect()
    by_category = statistics(_profiler.records(forgotten=False), sort_by, ascending)
    if reset:
        _profiler.forget()
    if not by_category:
        return ""
    return as_table(by_category) if format == "table" else as_json(by_category)


def timeline() -> ProfileTimeline:
    """Draws everything that ran so far: nodes over time, a lane for each thread or device.

    A notebook shows it as SVG, a terminal as text, of a bounded size: where many kernels fall on
    one point, the one with the most time is drawn, and the table below the lanes has the sums of
    all. Not in MXNet. Recording goes on if it is running.
    """
    _profiler.collect()
    return ProfileTimeline(_profiler.records())


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Calls :func:`set_config`, deprecated; ``mode`` is its option, such as 'symbolic' or 'all'."""
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Calls :func:`set_state`, deprecated."""
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Calls :func:`dump`, deprecated."""
    _deprecated("dump_profile", "dump")
    dump(True)


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"profiler.{old} is deprecated, use profiler.{new}", UserWarning, stacklevel=3)


def _check_choice(value: object, allowed: tuple[object, ...], where: str) -> None:
    if value not in allowed:
        raise ProfilerError(where, f"{value!r}", hint=" or ".join(map(repr, allowed)))
