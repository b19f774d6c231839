"""Flags of a thread: recording and training, by scopes and by setters."""

from __future__ import annotations

from typing import Any

from ._facts import attempt, attempts, flags, in_thread, leaf, script


@script
def flags_in_scopes(mx):
    ag = mx.autograd
    scopes = {
        "record": ag.record, "pause": ag.pause, "train_mode": ag.train_mode,
        "predict_mode": ag.predict_mode, "record without training": lambda: ag.record(False),
        "pause with training": lambda: ag.pause(True),
        "record by keyword": lambda: ag.record(train_mode=False),
        "pause by keyword": lambda: ag.pause(train_mode=True),
        "record, mode kept": lambda: ag.record(None), "pause, mode kept": lambda: ag.pause(None),
    }  # fmt: skip
    seen: dict[str, Any] = {"nothing": flags(mx)}
    for outer, make in scopes.items():
        with make():
            seen[outer] = flags(mx)
            for inner, make_inner in scopes.items():
                with make_inner():
                    seen[f"{inner} in {outer}"] = flags(mx)
            seen[f"{outer} again"] = flags(mx)
    seen["after"] = flags(mx)
    return seen


@script
def flags_after_exceptions(mx):
    seen = []
    try:
        with mx.autograd.record():
            try:
                with mx.autograd.pause():
                    raise KeyError("inner")
            except KeyError:
                seen.append(flags(mx))
            raise KeyError("outer")
    except KeyError:
        seen.append(flags(mx))
    return seen


@script
def setters_return_the_former_flag(mx):
    ag = mx.autograd
    seen = [ag.set_recording(True), flags(mx), ag.set_training(True), flags(mx)]
    seen += [ag.set_recording(True), ag.set_recording(False), ag.set_training(False), flags(mx)]
    return [*seen, ag.set_recording(1), flags(mx), ag.set_recording(0), flags(mx)]


@script
def setters_inside_scopes(mx):
    seen = []
    with mx.autograd.record():
        mx.autograd.set_recording(False)
        seen.append(flags(mx))
        with mx.autograd.pause():
            mx.autograd.set_recording(True)
            mx.autograd.set_training(True)
        seen.append(flags(mx))
    return [*seen, flags(mx)]


@script
def one_scope_object_nested(mx):
    scope = mx.autograd.record()
    with scope:
        with scope:
            seen = [flags(mx)]
        seen.append(flags(mx))
    return [*seen, flags(mx)]


@script
def one_scope_object_twice(mx):
    scope, seen = mx.autograd.record(), []
    for _ in range(2):
        with scope as entered:
            seen.append([flags(mx), entered is None])
        seen.append(flags(mx))
    return seen


@script
def flags_of_threads(mx):
    with mx.autograd.record():
        inside = in_thread(lambda: flags(mx))
        in_thread(lambda: mx.autograd.set_recording(False))
        seen = flags(mx)

    def records() -> Any:
        with mx.autograd.record():
            return flags(mx)

    return inside, seen, in_thread(records), flags(mx)


@script
def graphs_of_threads(mx):
    """A thread differentiates what another recorded, and records on with it."""
    x = leaf(mx)

    def records() -> Any:
        with mx.autograd.record():
            return x * x

    y = in_thread(records)
    y.backward(retain_graph=True)
    first = x.grad.copy()
    with mx.autograd.record():
        z = y * 3
    in_thread(z.backward)
    return first, x.grad


@script
def thread_without_record(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = in_thread(lambda: x * x)
    return attempt(mx, y.backward)


@script
def training_flag_decides_dropout(mx):
    """Mask of Dropout: whether any number was dropped."""
    ag, ones = mx.autograd, mx.nd.ones((200,))

    def dropped(**attrs: Any) -> bool:
        return bool((mx.nd.Dropout(ones, p=0.5, **attrs).asnumpy() == 0).any())

    seen = {"eager": dropped(), "always": dropped(mode="always")}
    for name, scope in {
        "train_mode": ag.train_mode(), "record(False)": ag.record(False), "record": ag.record(),
        "predict_mode": ag.predict_mode(), "pause": ag.pause(), "pause(True)": ag.pause(True),
    }.items():  # fmt: skip
        with scope:
            seen[name] = dropped()
            seen[f"{name}, always"] = dropped(mode="always")
    with ag.record(), ag.predict_mode():
        seen["predict_mode in record"] = dropped()
    return seen


@script
def predict_mode_in_record_is_recorded(mx):
    x = leaf(mx, [1.0] * 50)
    with mx.autograd.record():
        with mx.autograd.predict_mode():
            y = mx.nd.Dropout(x, p=0.9)
        z = y * 2
    z.backward()
    return z, x.grad


@script
def pause_in_record_is_not_recorded(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        with mx.autograd.pause():
            z = y * 10
        w = y + z
    w.backward()
    return w, x.grad, attempts(mx, paused=z.backward)


@script
def train_mode_of_backward(mx):
    """Dropout's backward uses the mask of forward under either mode."""
    seen = []
    for train_mode in (True, False):
        x = leaf(mx, [1.0] * 100)
        with mx.autograd.record():
            y = mx.nd.Dropout(x, p=0.5)
        y.backward(train_mode=train_mode)
        seen.append(bool((x.grad.asnumpy() == y.asnumpy()).all()))
    return seen
