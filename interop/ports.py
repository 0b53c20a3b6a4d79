"""Ports for servers that end and come back at the same address."""

import pathlib
import random
import socket

FIRST = 20_000
EPHEMERAL = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
given = set()


def free_port():
    """A port that nobody uses; the system gives it to no outgoing connection while its server is away."""
    while True:
        port = random.randrange(FIRST, int(EPHEMERAL.read_text().split()[0]))
        if port not in given and can_listen(port):
            given.add(port)
            return port


def can_listen(port):
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
