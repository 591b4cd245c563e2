"""A platform as SimGrid's XML, and the hosts of its ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from scalatrace.errors import LimitError
from scalatrace.files import write_file
from scalatrace.predict.platform import Network, Platform, Segment, TopologyShape
from scalatrace.predict.platform.engine_arrays import engine_topology

__all__ = ["HOSTS", "PLATFORM", "hosts", "list_unsupported", "platform_xml", "write_platform"]

PLATFORM, HOSTS = "platform.xml", "hosts.txt"
"""Files for `smpirun -platform` and `-hostfile`."""

MAX_MESSAGE = (1 << 31) - 1
"""Largest threshold: SimGrid compares sizes as 32-bit integers."""

ENVELOPE_BYTES = 16
"""Bytes that SimGrid adds to each message for its header; factors count them, overheads do not."""

MAX_ROUTED_NODES = 512
"""Nodes whose routes are written one by one."""

UNLIMITED_BPS = 1e15
"""Bandwidth of a link without a gap per byte, bytes/s."""


def platform_xml(platform: Platform, nranks: int, contention: bool = False) -> str:
    """Return the platform for `smpirun -platform`.

    Args:
        contention: whether messages share the links of the topology; else each has the full bandwidth.

    A `<cluster>` pays its latency on the links of both nodes, so each has half. A section of SimGrid holds
    for sizes above its bound, one of ours from its first size on.
    """
    segments = _segments(platform.network)
    first = segments[0]
    latency = first.latency_ns or max(segment.latency_ns for segment in segments)
    per_byte = first.per_byte_ns or max(segment.per_byte_ns for segment in segments)
    if contention and platform.shares_links:
        per_byte = platform.placed(nranks).links(nranks).per_byte_ns[0]
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
    zone = _zone(platform, nranks, contention, per_byte, latency)
    return "\n".join([
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">', " <config>", *lines, " </config>",
        *zone, "</platform>", "",
    ])  # fmt: skip


def _zone(platform: Platform, nranks: int, contention: bool, per_byte: float, latency: float) -> list[str]:
    """Return the lines of the hosts and their links."""
    shares, bandwidth, latency_s = (
        contention and platform.shares_links,
        _bandwidth(per_byte),
        _seconds(latency / 2),
    )
    if not contention and not _shares_hosts(platform):
        hosts = _free_hosts(nranks, bandwidth, latency_s)
        return [' <zone id="world" routing="Cluster">', *hosts, " </zone>"]
    memory = _segments(platform.memory or platform.network)[0]
    topology, count = {}, _nnodes(platform, nranks, contention)
    if shares:
        links = platform.links(nranks)
        if links.kind in ("mesh", "graph") or (len(set(links.per_byte_ns)) > 1 and links.kind == "fat-tree"):
            return _routed_zone(links, latency, _count_cores(platform, nranks), memory)
        topology, count = _topology(platform, links), links.nnodes
        if links.kind == "torus":
            latency_s = _seconds(latency)
    cluster = {
        "id": "cluster", "prefix": "node-", "suffix": "", "radical": f"0-{count - 1}",
        "speed": "1Gf", "core": str(_count_cores(platform, nranks)), "bw": bandwidth, "lat": latency_s,
        **topology, "sharing_policy": "SPLITDUPLEX",
        "loopback_bw": _bandwidth(memory.per_byte_ns), "loopback_lat": _seconds(memory.latency_ns),
    }  # fmt: skip
    attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in cluster.items())
    return [' <zone id="world" routing="Full">', f"  <cluster {attributes}/>", " </zone>"]


def _topology(platform: Platform, links: TopologyShape) -> dict[str, str]:
    """Return the attributes of a `<cluster>` for the links of its nodes."""
    if links.kind == "cluster":
        return {}
    if links.kind == "torus":
        parameters = ",".join(map(str, links.numbers))
    elif links.kind == "fat-tree":
        levels = links.levels()
        parameters = ";".join([str(len(levels[0])), *(",".join(map(str, part)) for part in levels)])
    else:
        parameters = platform.topology.topo_parameters
    return {"topology": links.kind.upper().replace("-", "_"), "topo_parameters": parameters}


def _count_cores(platform: Platform, nranks: int) -> int:
    """Return how many ranks the fullest node has."""
    return int(np.bincount(platform.nodes_of(nranks)).max(initial=1))


def _routed_zone(links: TopologyShape, latency: float, ncores: int, memory: Segment) -> list[str]:
    """Return hosts with a route for each pair, and for messages within a node. Raises LimitError for many."""
    if links.nnodes > MAX_ROUTED_NODES:
        raise LimitError(
            f"SimGrid's form of this {links.kind} has a route for each pair of its {links.nnodes} nodes"
        )
    topology = engine_topology(links)
    pairs = list(combinations(range(links.nnodes), 2))
    pairs += [(b, a) for a, b in pairs]
    sides = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    offsets, routes = topology.routes(sides[:, 0].copy(), sides[:, 1].copy())
    lines = [' <zone id="world" routing="Full">']
    lines += [f'  <host id="node-{i}" speed="1Gf" core="{ncores}"/>' for i in range(links.nnodes)]
    lines += [
        f'  <link id="within" bandwidth="{_bandwidth(memory.per_byte_ns)}" '
        f'latency="{_seconds(memory.latency_ns)}" sharing_policy="FATPIPE"/>',
        f'  <link id="latency" bandwidth="{UNLIMITED_BPS:g}Bps" latency="{_seconds(latency)}" '
        'sharing_policy="FATPIPE"/>',
    ]
    for link in range(topology.count_links()):
        number = links.class_of(link)
        speed = (
            f'bandwidth="{_bandwidth(links.per_byte_ns[number])}" latency="{_seconds(links.hop_ns[number])}"'
        )
        lines.append(f'  <link id="link-{link}" {speed}/>')
    for i in range(links.nnodes):
        lines.append(f'  <route src="node-{i}" dst="node-{i}"><link_ctn id="within"/></route>')
    for (a, b), start, end in zip(pairs, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        ids = "".join(f'<link_ctn id="link-{link}"/>' for link in routes[start:end].tolist())
        ends = f'src="node-{a}" dst="node-{b}" symmetrical="NO"'
        lines.append(f'  <route {ends}><link_ctn id="latency"/>{ids}</route>')
    return [*lines, " </zone>"]


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


def hosts(platform: Platform, nranks: int, contention: bool = False) -> str:
    """Return the text for `smpirun -hostfile`: the host of each rank."""
    if not (_shares_hosts(platform) or (contention and platform.shares_links)):
        return "".join(f"node-{rank}\n" for rank in range(nranks))
    return "".join(f"node-{node}\n" for node in platform.nodes_of(nranks).tolist())


def write_platform(folder: Path, platform: Platform, nranks: int, contention: bool = False) -> None:
    """Write `platform.xml` and `hosts.txt` into a folder."""
    placed = platform.placed(nranks)
    write_file(folder / PLATFORM, platform_xml(placed, nranks, contention).encode())
    write_file(folder / HOSTS, hosts(placed, nranks, contention).encode())


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
    topology = platform.topology
    if topology.kind in ("torus", "fat-tree", "dragonfly") and topology.hop_ns:
        notes.append("topology.hop_ns: SimGrid gives all links the same latency")
    return notes


def _shares_hosts(platform: Platform) -> bool:
    """Whether ranks of a node are on one host: they communicate by its loopback link."""
    return platform.memory is not None


def _nnodes(platform: Platform, nranks: int, contention: bool) -> int:
    if _shares_hosts(platform) or (contention and platform.shares_links):
        return int(platform.nodes_of(nranks).max(initial=0)) + 1
    return nranks


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
