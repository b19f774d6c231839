"""A profile as a picture: the nodes that ran, over time, with a lane for each thread or device."""

from collections import Counter
from collections.abc import Sequence

from ..display import Lane, Span, Timeline, View, Viewed, many, view_of
from ._xspace import Record


class ProfileTimeline(Viewed):
    """The profiler's records as lanes over time, without counters and markers."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = [record for record in records if record.kind == "time"]

    @property
    def lanes(self) -> list[Lane]:
        threads: dict[tuple[str, str], list[Span]] = {}
        for record in self.records:
            spans = threads.setdefault((record.process, record.thread), [])
            spans.append(Span(record.name, record.begin, record.duration))
        is_alone = len({process for process, _ in threads}) < 2
        lanes = []
        numbers: Counter[str] = Counter()
        for (process, thread), spans in threads.items():
            # Threads are called NAME/NUMBER, by numbers of the system that tell nothing.
            name = thread.partition("/")[0] if is_alone else f"{process} {thread.partition('/')[0]}"
            numbers[name] += 1
            lanes.append(Lane(f"{name} {numbers[name]}", spans))
        return lanes

    def __repr__(self) -> str:
        return view_of(self).text()


@view_of.register
def _(profile: ProfileTimeline) -> View:
    lanes = profile.lanes
    title = f"profile: {many(len(profile.records), 'event')} on {many(len(lanes), 'thread')}"
    return View(title, [Timeline(lanes)])
