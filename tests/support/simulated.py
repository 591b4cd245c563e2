"""A second simulator, as simple as possible: every call of every rank, one after the other, in Python.

It follows the same model (predict/platform/model.py) without the compressed form, steady loops, or C++. It
knows messages, requests, and barriers of the world. Receives from any source are matched one by one, the
earliest first, when no rank can do anything else.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from scalatrace import Trace
from scalatrace.operations import operation, sent_bytes
from scalatrace.predict.platform import Platform, Segment
from scalatrace.trace.query.requests import ages
from scalatrace.trace.values.vec import ANY_SOURCE

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
        self.posted: dict[int, list[Event]] = defaultdict(list)  # by receiver
        self.sent: dict[int, list[Event]] = defaultdict(list)
        self.waiting: list[list[Event] | None] = [None] * self.n
        self.meeting: dict[int, float] = {}

    def run(self) -> list[float]:
        moved = True
        while moved:
            moved = False
            for rank in range(self.n):
                while self.step(rank):
                    moved = True
            moved = moved or self.match_any()
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
        elif call.op in ("Wait", "Waitall", "Waitsome"):
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
        event["tag"] = tag
        self.sent[dest].append(event)
        self.match(dest)
        return event

    def receive(self, rank: int, source: int, tag: int) -> Event:
        event: Event = {
            "kind": "recv", "posted": self.clock[rank], "done": False, "source": source, "tag": tag,
        }  # fmt: skip
        self.posted[rank].append(event)
        self.match(rank)
        return event

    def fitting(self, dest: int, receive: Event) -> list[Event]:
        """Return the first message of each sender that a receive may take."""
        first: dict[int, Event] = {}
        for message in self.sent[dest]:
            if message["tag"] == receive["tag"] and receive["source"] in (ANY_SOURCE, message["from"]):
                first.setdefault(message["from"], message)
        return list(first.values())

    def match(self, dest: int) -> None:
        """Match receives of known partners that no earlier receive from any source may take."""
        wild = set()
        for receive in list(self.posted[dest]):
            if receive["source"] == ANY_SOURCE:
                wild.add(receive["tag"])
            elif receive["tag"] not in wild and (fitting := self.fitting(dest, receive)):
                self.matched(dest, receive, fitting[0])

    def match_any(self) -> bool:
        """Match the earliest receive from any source. Return whether there was one."""
        found: list[tuple[float, int, Event, Event]] = []
        for dest, receives in self.posted.items():
            for receive in (receive for receive in receives if receive["source"] == ANY_SOURCE):
                if messages := self.fitting(dest, receive):
                    first = min(messages, key=lambda each: self.arrival(dest, each))
                    found.append((max(self.arrival(dest, first), receive["posted"]), dest, receive, first))
                break
        if not found:
            return False
        _, dest, receive, message = min(found, key=lambda each: each[0])
        self.matched(dest, receive, message)
        self.match(dest)
        return True

    def arrival(self, dest: int, message: Event) -> float:
        """Return when all of an eager message is there, or the request to send of another one."""
        segment = self.platform.network_between(message["from"], dest).segment(message["nbytes"])
        transfer = message["nbytes"] * segment.per_byte_ns if message["eager"] else 0.0
        return float(message["ready"] + segment.latency_ns + transfer)

    def matched(self, dest: int, receive: Event, message: Event) -> None:
        self.posted[dest] = [each for each in self.posted[dest] if each is not receive]
        self.sent[dest] = [each for each in self.sent[dest] if each is not message]
        source = message["from"]
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
