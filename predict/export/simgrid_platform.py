"""A platform as SimGrid's XML, and the hosts of its ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

from scalatrace.files import write_file
from scalatrace.predict.platform import Network, Platform, Segment

__all__ = ["HOSTS", "PLATFORM", "hosts", "list_unsupported", "platform_xml", "write_platform"]

PLATFORM, HOSTS = "platform.xml", "hosts.txt"
"""Files for `smpirun -platform` and `-hostfile`."""

MAX_MESSAGE = (1 << 31) - 1
"""Largest threshold: SimGrid compares sizes as 32-bit integers."""

ENVELOPE_BYTES = 16
"""Bytes that SimGrid adds to each message for its header; factors count them, overheads do not."""

UNLIMITED_BPS = 1e15
"""Bandwidth of a link without a gap per byte, bytes/s."""


def platform_xml(platform: Platform, nranks: int, contention: bool = False) -> str:
    """Return the platform for `smpirun -platform`.

    Args:
        contention: whether messages share the links of their nodes; else each has the full bandwidth.

    A `<cluster>` pays its latency on the links of both nodes, so each has half. A section of SimGrid holds
    for sizes above its bound, one of ours from its first size on.
    """
    segments = _segments(platform.network)
    first = segments[0]
    latency = first.latency_ns or max(segment.latency_ns for segment in segments)
    per_byte = first.per_byte_ns or max(segment.per_byte_ns for segment in segments)
    memory = _segments(platform.memory or platform.network)[0]
    cores = max(platform.ranks_per_node or nranks, 1) if _shares_hosts(platform) else 1
    properties = {
        "network/model": "SMPI",
        "network/crosstraffic": "0",
        "network/TCP-gamma": "1e18",
        "smpi/bw-factor": _factors(segments, lambda s: per_byte / s.per_byte_ns if s.per_byte_ns else 1.0),
        "smpi/lat-factor": _factors(segments, lambda s: s.latency_ns / latency if latency else 1.0),
        "smpi/os": _overheads(segments, "send"),
        "smpi/ois": _overheads(segments, "send"),
        "smpi/or": _overheads(segments, "recv"),
        "smpi/async-small-thresh": _threshold(platform.network),
        "smpi/send-is-detached-thresh": _threshold(platform.network),
    }
    lines = [f"  <prop id={quoteattr(name)} value={quoteattr(value)}/>" for name, value in properties.items()]
    count, bandwidth, latency_s = _nnodes(platform, nranks), _bandwidth(per_byte), _seconds(latency / 2)
    if contention or _shares_hosts(platform):
        cluster = {
            "id": "cluster", "prefix": "node-", "suffix": "", "radical": f"0-{count - 1}",
            "speed": "1Gf", "core": str(cores), "bw": bandwidth, "lat": latency_s,
            "sharing_policy": "SPLITDUPLEX",
            "loopback_bw": _bandwidth(memory.per_byte_ns), "loopback_lat": _seconds(memory.latency_ns),
        }  # fmt: skip
        attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in cluster.items())
        zone = [' <zone id="world" routing="Full">', f"  <cluster {attributes}/>", " </zone>"]
    else:
        zone = [' <zone id="world" routing="Cluster">', *_free_hosts(count, bandwidth, latency_s), " </zone>"]
    return "\n".join([
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">', " <config>", *lines, " </config>",
        *zone, "</platform>", "",
    ])  # fmt: skip


def _free_hosts(count: int, bandwidth: str, latency_s: str) -> Iterator[str]:
    """Yield hosts whose messages do not slow each other down, in either direction.

    The links of a `<cluster>` with FATPIPE are one for both directions, which do share it.
    """
    link = f'bandwidth="{bandwidth}" latency="{latency_s}" sharing_policy="FATPIPE"'
    for i in range(count):
        yield f'  <host id="node-{i}" speed="1Gf"/>'
        yield f'  <link id="up-{i}" {link}/>'
        yield f'  <link id="down-{i}" {link}/>'
        yield f'  <host_link id="node-{i}" up="up-{i}" down="down-{i}"/>'


def hosts(platform: Platform, nranks: int) -> str:
    """Return the text for `smpirun -hostfile`: the host of each rank."""
    shared = _shares_hosts(platform)
    return "".join(f"node-{platform.node_of(rank) if shared else rank}\n" for rank in range(nranks))


def write_platform(folder: Path, platform: Platform, nranks: int, contention: bool = False) -> None:
    """Write `platform.xml` and `hosts.txt` into a folder."""
    write_file(folder / PLATFORM, platform_xml(platform, nranks, contention).encode())
    write_file(folder / HOSTS, hosts(platform, nranks).encode())


def list_unsupported(platform: Platform) -> list[str]:
    """Return the attributes of a platform that are not in its SimGrid form, with reasons."""
    notes = []
    if any(segment.gap_ns for segment in platform.network.segments):
        notes.append("network.segments.gap_ns: SimGrid has no gap between messages")
    if platform.memory is not None and len(platform.memory.segments) > 1:
        notes.append("memory.segments: sizes scale as those of the network; only the first segment is used")
    if platform.matching.per_entry_ns:
        notes.append("matching: SimGrid has no costs of queues")
    if platform.strided.per_byte_ns:
        notes.append("strided: SimGrid has no costs of packing")
    if platform.topology.kind != "full":
        notes.append(f"topology.kind = {platform.topology.kind!r}: the nodes are linked in full")
    return notes


def _shares_hosts(platform: Platform) -> bool:
    """Whether ranks of a node are on one host: they communicate by its loopback link."""
    return platform.memory is not None


def _nnodes(platform: Platform, nranks: int) -> int:
    return platform.node_of(nranks - 1) + 1 if _shares_hosts(platform) else nranks


def _segments(network: Network) -> list[Segment]:
    """Return the segments of messages, with one more where the rendezvous protocol begins.

    The latency is that without the time of the envelope.
    """
    limit, extra = network.rendezvous_above_bytes, network.rendezvous_latency_ns
    starts = {segment.from_bytes for segment in network.segments}
    if limit is not None and extra:
        starts.add(limit + 1)
    return [
        _at(network, start, extra if limit is not None and start > limit else 0.0) for start in sorted(starts)
    ]


def _at(network: Network, start: int, extra_ns: float) -> Segment:
    segment = network.segment(start)
    latency = segment.latency_ns + extra_ns - ENVELOPE_BYTES * segment.per_byte_ns
    return replace(segment, from_bytes=start, latency_ns=max(latency, 0.0))


def _bound(segment: Segment) -> int:
    return max(segment.from_bytes - 1, 0)


def _factors(segments: list[Segment], factor: Callable[[Segment], float]) -> str:
    """Return the factors of all sections; the first holds up to its bound, too."""
    bounds = [_bound(segment) + ENVELOPE_BYTES if segment.from_bytes else 0 for segment in segments]
    return ";".join(f"{bound}:{factor(s):.12g}" for bound, s in zip(bounds, segments, strict=True))


def _overheads(segments: list[Segment], side: str) -> str:
    return ";".join(
        f"{_bound(s)}:{getattr(s, f'{side}_overhead_ns') * 1e-9:.12g}"
        f":{getattr(s, f'{side}_overhead_per_byte_ns') * 1e-9:.12g}"
        for s in segments
    )


def _threshold(network: Network) -> str:
    limit = network.rendezvous_above_bytes
    return str(MAX_MESSAGE if limit is None else min(limit + 1, MAX_MESSAGE))


def _bandwidth(per_byte_ns: float) -> str:
    return f"{1e9 / per_byte_ns if per_byte_ns else UNLIMITED_BPS:.12g}Bps"


def _seconds(ns: float) -> str:
    return f"{ns * 1e-9:.12g}s"
