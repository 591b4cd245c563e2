"""The statement for one point-to-point message."""

from __future__ import annotations

from scalatrace.codegen.conceptual import tree as t

__all__ = ["transfer"]


def transfer(
    sends: bool, actors: t.Tasks, nbytes: t.Expr, tag: t.Expr | None, peer: t.Expr, asynchronous: bool
) -> t.Statement:
    """Return a send to an unsuspecting task, or a receive.

    Args:
        actors: the tasks that send or receive.
        peer: the task at the other end, which can depend on the variable of `actors`.
    """
    message, other = t.Message(size=t.Measure(nbytes, "BYTES"), tag=tag), t.OneTask(peer)
    later = True if asynchronous else None
    if sends:
        return t.Send(actors, message, other, asynchronous=later, unsuspecting=True)
    return t.Receive(actors, message, other, asynchronous=later)
