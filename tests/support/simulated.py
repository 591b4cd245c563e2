"""A second simulator, as simple as possible: every call of every rank, one after the other, in Python.

It follows the same model (predict/platform/model.py) without the compressed form, steady loops, or C++. It
knows messages with known partners, requests, and barriers of the world.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from scalatrace import Trace
from scalatrace.operations import operation, sent_bytes
from scalatrace.predict.platform import Platform, Segment
from scalatrace.trace.query.requests import ages

Event = dict[str, Any]


def simulated_ns(trace: Trace, platform: Platform) -> list[float]:
    """Return the end of each rank. Raises RuntimeError when ranks wait for ever."""
    return _Run(trace, platform).run()


class _Run:
    def __init__(self, trace: Trace, platform: Platform) -> None:
        self.platform, self.n = platform, trace.nprocs
        self.walks = [list(trace.walk(rank)) for rank in range(self.n)]
        self.at = [0] * self.n
        self.clock = [0.0] * self.n
        self.interface = [0.0] * self.n
        self.received = [(0.0, 0.0)] * self.n  # first byte and end of the last message
        self.live: list[list[Event]] = [[] for _ in range(self.n)]
        self.posted: dict[tuple[int, int, int], list[Event]] = defaultdict(list)
        self.sent: dict[tuple[int, int, int], list[Event]] = defaultdict(list)
        self.waiting: list[list[Event] | None] = [None] * self.n
        self.meeting: dict[int, float] = {}

    def run(self) -> list[float]:
        moved = True
        while moved:
            moved = False
            for rank in range(self.n):
                while self.step(rank):
                    moved = True
        if any(self.at[r] < len(self.walks[r]) for r in range(self.n)):
            raise RuntimeError("deadlock")
        return self.clock

    def step(self, rank: int) -> bool:
        if self.waiting[rank] is None:
            if self.at[rank] == len(self.walks[rank]):
                return False
            self.begin(rank, self.walks[rank][self.at[rank]])
        waiting = self.waiting[rank]
        assert waiting is not None
        if not all(event["done"] for event in waiting):
            return False
        for event in sorted(waiting, key=lambda event: event.get("first", 0.0)):
            self.end(rank, event)
        self.waiting[rank] = None
        self.at[rank] += 1
        return True

    def begin(self, rank: int, call: Any) -> None:
        histogram = call.stat("compute_ns")
        if histogram is not None:
            self.clock[rank] += round(histogram.mean * 1000) / 1000
        row, waiting = operation(call.op), list[Event]()
        if call.op.endswith("end"):
            waiting = [self.send(rank, call["dest"], call["tag"], sent_bytes(call.op, call))]
        elif call.op.endswith("ecv"):
            waiting = [self.receive(rank, call["source"], call["tag"])]
        elif call.op == "Barrier":
            waiting = [self.meet(rank)]
        elif call.op in ("Wait", "Waitall"):
            live = self.live[rank]
            waiting = [live[-1 - age] for age in ages(call)]
            self.live[rank] = [event for event in live if not any(event is other for other in waiting)]
        if row.makes_request:
            self.live[rank] += waiting
            waiting = []
        self.waiting[rank] = waiting

    def send(self, rank: int, dest: int, tag: int, nbytes: int) -> Event:
        event: Event = {"kind": "send", "from": rank, "nbytes": nbytes, "done": False}
        network = self.platform.network_between(rank, dest)
        segment = network.segment(nbytes)
        self.clock[rank] += segment.send_overhead_ns + nbytes * segment.send_overhead_per_byte_ns
        event["ready"] = self.clock[rank]
        if self.platform.interface != "unlimited":
            event["ready"] = max(event["ready"], self.interface[rank])
            self.interface[rank] = event["ready"] + max(nbytes * segment.per_byte_ns, segment.gap_ns)
        event["end"] = self.clock[rank]
        event["done"] = event["eager"] = network.is_eager(nbytes)
        event["to"] = dest
        self.sent[rank, dest, tag].append(event)
        self.match(rank, dest, tag)
        return event

    def receive(self, rank: int, source: int, tag: int) -> Event:
        event: Event = {"kind": "recv", "posted": self.clock[rank], "done": False}
        self.posted[source, rank, tag].append(event)
        self.match(source, rank, tag)
        return event

    def match(self, source: int, dest: int, tag: int) -> None:
        sent, posted = self.sent[source, dest, tag], self.posted[source, dest, tag]
        if not sent or not posted:
            return
        message, receive = sent.pop(0), posted.pop(0)
        network = self.platform.network_between(source, dest)
        segment = network.segment(message["nbytes"])
        transfer = message["nbytes"] * segment.per_byte_ns
        start = message["ready"]
        if not message["eager"]:
            start = max(start, receive["posted"]) + network.rendezvous_latency_ns
            message["end"], message["done"] = start + segment.latency_ns + transfer, True
        receive.update(first=start + segment.latency_ns, transfer=transfer, done=True)
        receive["overhead"] = segment.recv_overhead_ns + message["nbytes"] * segment.recv_overhead_per_byte_ns

    def meet(self, rank: int) -> Event:
        """Let members of a dissemination barrier leave when all have come."""
        event: Event = {"kind": "barrier", "done": False, "end": 0.0}
        self.meeting[rank] = self.clock[rank]
        self.members = [*getattr(self, "members", []), (rank, event)]
        if len(self.members) == self.n:
            times = [self.meeting[r] for r in range(self.n)]
            interface, k = list(times), 1
            while k < self.n:
                to = [self.segment(r, (r + k) % self.n) for r in range(self.n)]
                own = [times[r] + to[r].send_overhead_ns for r in range(self.n)]
                starts = list(own)
                if self.platform.interface != "unlimited":
                    starts = [max(start, free) for start, free in zip(own, interface, strict=True)]
                    interface = [starts[r] + to[r].gap_ns for r in range(self.n)]
                arrivals = [starts[r] + to[r].latency_ns for r in range(self.n)]
                times = [
                    max(own[r], arrivals[(r - k) % self.n]) + to[(r - k) % self.n].recv_overhead_ns
                    for r in range(self.n)
                ]
                k *= 2
            for each, other in self.members:
                other.update(done=True, end=times[each])
            self.members = []
        return event

    def segment(self, source: int, dest: int) -> Segment:
        return self.platform.network_between(source, dest).segment(0)

    def end(self, rank: int, event: Event) -> None:
        if event["kind"] != "recv":
            self.clock[rank] = max(self.clock[rank], event["end"])
            return
        first, transfer = event["first"], event["transfer"]
        if self.platform.interface != "unlimited" and transfer > 0:
            before, until = self.received[rank]
            if first + transfer > before:
                first = max(first, until)
            self.received[rank] = first, first + transfer
        self.clock[rank] = max(self.clock[rank], first + transfer) + event["overhead"]
