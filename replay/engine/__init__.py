"""One rank's replay: live requests, cached calls, the registry of handlers, planned senders.

In: a rank's walk over a trace. Out: calls to a transport.
"""
