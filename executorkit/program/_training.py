"""The age of a training, on which it depends whether its steps are interpreted."""


class Training:
    """A training that arrays belong to: its counts, from which its age follows.

    updates
        number of updates that its optimizer has counted; 0 where no optimizer is known.
    steps
        number of training steps since the last update, or since the beginning.
    compiles_at_once
        whether somebody has asked for compiled programs, so that its age does not matter.
    age
        the number of updates or of steps, whichever is larger; None if all is compiled.
    """

    __slots__ = ("age", "compiles_at_once", "steps", "updates")

    def __init__(self, compiles_at_once: bool = False) -> None:
        self.updates = 0
        self.steps = 0
        self.compiles_at_once = compiles_at_once
        self.age: int | None = None if compiles_at_once else 0

    def set_updates(self, updates: int) -> None:
        """Takes over the number of updates that an optimizer has counted."""
        if updates != self.updates:
            self.updates = updates
            self.count_steps(0)

    def count_steps(self, steps: int) -> None:
        """Takes over the number of training steps since the last update."""
        self.steps = steps
        if not self.compiles_at_once:
            self.age = max(self.updates, steps)

    def compile_at_once(self) -> None:
        """Has no step interpreted from now on."""
        self.compiles_at_once = True
        self.age = None
