"""Random programs of streams.c: threads that share requests, messages, communicators, windows and files."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

__all__ = ["NITERATIONS", "NRANKS", "Script", "random_runs", "scripts"]

NRANKS = 3
NITERATIONS = 5


@dataclass
class Script:
    """A program for streams.c; what a thread does waits for what it needs of other threads.

    Attributes:
        uses: (thread, slots) of each start, completion or end of requests in an iteration.
        last_user: the thread that used a request or a communicator last.
        overlapping: threads that have used it since, at the same time.
    """

    nthreads: int
    lines: list[str] = field(default_factory=list)
    uses: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    nslots: int = 0
    ncomms: int = 1
    nobjects: int = 0
    nsignals: int = 0
    last_user: dict[object, int] = field(default_factory=dict)
    overlapping: dict[object, set[int]] = field(default_factory=dict)
    partitioned: bool = False

    def add(self, thread: int, line: str, *needs: object, overlaps: bool = False) -> None:
        """Add a line after the last use of what it needs, by whichever thread.

        Args:
            overlaps: it may come at the same time as other such lines.
        """
        for need in needs:
            before = {self.last_user.get(need, thread)}
            if overlaps:
                self.overlapping.setdefault(need, set()).add(thread)
            else:
                before |= self.overlapping.pop(need, set())
                self.last_user[need] = thread
            for last in sorted(before - {thread}):
                self.lines += [f"{last} signal {self.nsignals}", f"{thread} await {self.nsignals}"]
                self.nsignals += 1
        self.lines.append(f"{thread} {line}")

    def text(self, niterations: int) -> str:
        return "\n".join([f"{self.nthreads} {niterations}", *self.lines, ""])


STEPS = (
    "request", "request", "any", "persistent", "probe", "exchange", "end", "collective", "dup", "split",
    "sleep", "fences", "locks", "file", "partitioned",
)  # fmt: skip


def random_runs(nprograms: int) -> settings:
    """Return the settings of tests that start MPI programs: the same ones each time, none made smaller."""
    return settings(
        max_examples=nprograms,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        phases=[Phase.generate],
    )


@st.composite
def scripts(draw: st.DrawFn, partitioned: bool = True) -> Script:
    """Draw a program without deadlocks: each rank exchanges messages with its neighbours on a ring.

    Args:
        partitioned: with partitioned messages. Those of Open MPI 5 hang where several threads make them.
    """
    script = Script(draw(st.integers(2, 4)))
    threads = st.integers(0, script.nthreads - 1)
    open_slots: list[tuple[int, bool]] = []  # slot, whether it is persistent
    for _ in range(draw(st.integers(2, 10))):
        step = draw(st.sampled_from(STEPS))
        thread = draw(threads)
        comm = draw(st.integers(0, script.ncomms - 1))
        if step in ("request", "any", "persistent") and script.nslots < 40:
            tag = script.nslots
            for kind in ("recv", "send"):
                letter = "any" if (step, kind) == ("any", "recv") else "p" if step == "persistent" else "i"
                slot, script.nslots = script.nslots, script.nslots + 1
                maker = draw(threads)
                script.add(
                    maker, f"{letter}{kind} {slot} {2000 + tag} {tag} {comm}", ("comm", comm), ("slot", slot)
                )
                if letter == "p":
                    starter = draw(threads)
                    script.add(starter, f"start {slot}", ("slot", slot))
                    script.uses.append((starter, (slot,)))
                open_slots.append((slot, letter == "p"))
        elif step == "end":
            _end(draw, script, thread, open_slots, draw(st.integers(1, 4)))
        elif step == "collective":
            script.add(thread, f"{draw(st.sampled_from(['barrier', 'reduce']))} {comm}", ("comm", comm))
        elif step in ("dup", "split") and script.ncomms < 8:
            script.add(thread, f"{step} {comm} {script.ncomms}", ("comm", comm), ("comm", script.ncomms))
            script.ncomms += 1
        elif step == "exchange":
            script.add(thread, f"exchange 64 3000 {comm} {draw(st.integers(1, 3))}", ("comm", comm))
        elif step == "probe" and script.nslots < 40:
            slot, script.nslots = script.nslots, script.nslots + 2
            script.add(draw(threads), f"isend {slot + 1} {2000 + slot} {slot} {comm}", ("comm", comm))
            script.last_user["slot", slot + 1] = int(script.lines[-1].split()[0])
            open_slots.append((slot + 1, False))
            script.add(thread, f"mprobe {slot} {slot} {comm}", ("comm", comm), ("message", slot))
            script.add(draw(threads), f"mrecv {slot} {2000 + slot}", ("message", slot))
        elif step in ("fences", "locks"):
            _window(draw, script, comm, step == "fences")
        elif step == "file":
            _file(draw, script)
        elif step == "partitioned" and partitioned and script.nslots < 40:
            _partitioned(draw, script, comm)
        elif step == "sleep":
            script.add(thread, f"sleep {draw(st.integers(1, 300))}")
    while open_slots:
        _end(draw, script, draw(threads), open_slots, draw(st.integers(1, 4)))
    for comm in range(1, script.ncomms):
        script.add(draw(threads), f"release {comm}", ("comm", comm))
    return script


def _window(draw: st.DrawFn, script: Script, comm: int, fences: bool) -> None:
    """Put into a window from several threads at the same time, in epochs that any threads begin and end."""
    threads = st.integers(0, script.nthreads - 1)
    window, script.nobjects = script.nobjects, script.nobjects + 1
    use, shared = ("window", window), ("comm", comm)
    script.add(draw(threads), f"window {window} {comm}", use, shared)
    if fences:
        script.add(draw(threads), f"fence {window}", use, shared)
    for _ in range(draw(st.integers(1, 2))):
        if not fences:
            script.add(draw(threads), f"lock {window} {comm}", use)
        for _ in range(draw(st.integers(1, 4))):
            nbytes = draw(st.integers(1, 64))
            script.add(draw(threads), f"put {window} {comm} {nbytes}", use, overlaps=True)
        if fences:
            script.add(draw(threads), f"fence {window}", use, shared)
        else:
            script.add(draw(threads), f"unlock {window} {comm}", use)
    script.add(draw(threads), f"closewindow {window}", use, shared)


def _file(draw: st.DrawFn, script: Script) -> None:
    """Write to a file at its pointer, in an order, and at offsets, in none."""
    threads = st.integers(0, script.nthreads - 1)
    file, script.nobjects = script.nobjects, script.nobjects + 1
    # Two threads that open files on one communicator at the same time give them numbers in any order.
    script.add(draw(threads), f"file {file}", ("file", file), "opening")
    for _ in range(draw(st.integers(1, 4))):
        overlaps, nbytes = draw(st.booleans()), draw(st.integers(1, 64))
        line = f"writeat {file} {nbytes} 256" if overlaps else f"write {file} {nbytes}"
        script.add(draw(threads), line, ("file", file), overlaps=overlaps)
    script.add(draw(threads), f"closefile {file}", ("file", file), "opening")


def _partitioned(draw: st.DrawFn, script: Script, comm: int) -> None:
    """Send partitions from several threads at the same time."""
    threads = st.integers(0, script.nthreads - 1)
    receive, send = script.nslots, script.nslots + 1
    script.nslots += 2
    script.partitioned = True
    # Partitioned requests match in the order in which they are made.
    script.add(
        draw(threads),
        f"partrecv {receive} {500 + receive} {receive} {comm}",
        ("comm", comm),
        ("slot", receive),
    )
    script.add(
        draw(threads), f"partsend {send} {500 + receive} {receive} {comm}", ("comm", comm), ("slot", send)
    )
    for _ in range(draw(st.integers(1, 2))):
        for slot in (receive, send):
            script.add(draw(threads), f"start {slot}", ("slot", slot))
        for partition in range(4):
            script.add(draw(threads), f"ready {send} {partition}", ("slot", send), overlaps=True)
        for slot in draw(st.permutations([receive, send])):
            script.add(draw(threads), f"wait {slot}", ("slot", slot))
    for slot in (receive, send):
        script.add(draw(threads), f"free {slot}", ("slot", slot))


def _end(draw: st.DrawFn, script: Script, thread: int, open_slots: list[tuple[int, bool]], n: int) -> None:
    """Complete some requests."""
    chosen = [
        open_slots.pop(draw(st.integers(0, len(open_slots) - 1))) for _ in range(min(n, len(open_slots)))
    ]
    if not chosen:
        return
    slots = [slot for slot, _ in chosen]
    before = [line.split()[1] for line in script.lines if line.startswith(f"{thread} ")]
    calls = [operation for operation in before if operation not in ("signal", "await", "sleep")]
    joins = not calls or calls[-1] == "waitsome"  # consecutive ones become one event
    operation = (
        "wait" if len(slots) == 1 else draw(st.sampled_from(["waitall", "waitall" if joins else "waitsome"]))
    )
    needs = [("slot", slot) for slot in slots]
    script.add(thread, f"{operation} {' '.join(map(str, slots))}", *needs)
    script.uses.append((thread, tuple(sorted(slots)) if operation == "waitsome" else tuple(slots)))
    for slot, persistent in chosen:
        if persistent:
            freer = draw(st.integers(0, script.nthreads - 1))
            script.add(freer, f"free {slot}", ("slot", slot))
            script.uses.append((freer, (slot,)))
