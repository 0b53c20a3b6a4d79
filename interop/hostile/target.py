"""A server under attack: its process, what the kernel says of it, and a polite caller beside the attacker."""

import os
import resource
import socket
import subprocess
import threading
import time

# Far above any answer's time, so that a hanging server fails the row and not the run.
PATIENCE = 20.0
PING = b"POST /Target/ping HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
ANSWER = b'{"result":7}'
TICKS = 100.0


class Peer:
    """A socket of an attacker, which counts the bytes that it sends."""

    def __init__(self, target, sock):
        self.target, self.sock, self.over = target, sock, False
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, *parts):
        """Sends all of it; a server that closes meanwhile has defended itself."""
        data = b"".join(parts)
        self.target.sent += len(data)
        try:
            self.sock.sendall(data)
        except OSError:
            return False
        return True

    def read(self, enough=lambda data: False, seconds=PATIENCE):
        """Returns the bytes until they are enough, until the end, or until the time is over."""
        data, end = b"", time.monotonic() + seconds
        while not enough(data):
            left = end - time.monotonic()
            if left <= 0:
                break
            self.sock.settimeout(left)
            try:
                more = self.sock.recv(1 << 16)
            except TimeoutError:
                break
            except OSError:
                more = b""
            if not more:
                self.over = True
                break
            data += more
        return data

    def reset(self):
        """Ends the connection with an RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.sock.close()

    def close(self):
        self.sock.close()


class Server:
    """A running server: the connections to it, and the kernel's figures for its process."""

    def __init__(self, address, pid):
        self.address, self.pid, self.sent, self.peers = address, pid, 0, []

    def connect(self):
        peer = Peer(self, socket.create_connection(self.address, PATIENCE))
        self.peers.append(peer)
        return peer

    def hang_up(self):
        for peer in self.peers:
            peer.close()
        self.peers.clear()

    def proc(self, name):
        with open(f"/proc/{self.pid}/{name}") as file:
            return file.read()

    def status(self, key):
        line = next(line for line in self.proc("status").splitlines() if line.startswith(key))
        return int(line.split()[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu(self):
        """Seconds of CPU so far."""
        fields = self.proc("stat").rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        """Resident MB."""
        return self.status("VmRSS") / 1024

    def peak(self):
        """The largest resident MB since the last `forget_peak`."""
        return self.status("VmHWM") / 1024

    def forget_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as file:
            file.write("5")


class Target(Server):
    """A server of ours in a process of its own."""

    def __init__(self, program, model, limits):
        limits = dict(limit.split("=") for limit in limits)
        descriptors = limits.pop("descriptors", None)
        flags = [word for limit in limits.items() for word in ("--limit", "=".join(limit))]
        self.process = subprocess.Popen(
            [program, "hostile", "server", "--protocol", "binary", "--transport", "buffered",
             "--address", "tcp://127.0.0.1:0", "--model", model, *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ready = self.process.stdout.readline().decode().split()
        if ready[:1] != ["READY"]:
            raise RuntimeError(self.process.stderr.read().decode())
        host, port = ready[1].rsplit(":", 1)
        super().__init__((host, int(port)), self.process.pid)
        if descriptors:
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (int(descriptors), int(descriptors)))
        self.log = b""
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        for line in self.process.stderr:
            self.log += line

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.hang_up()
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Caller(threading.Thread):
    """A polite caller: one call at a time on a connection of its own, with a pause between calls."""

    def __init__(self, address, pause=0.01, done=None):
        super().__init__(daemon=True)
        self.pause, self.done, self.times, self.failed = pause, done or threading.Event(), [], None
        self.sock = socket.create_connection(address, PATIENCE)
        self.sock.settimeout(PATIENCE)

    def call(self):
        start = time.monotonic()
        self.sock.sendall(PING)
        answer = b""
        while not answer.endswith(ANSWER):
            more = self.sock.recv(4096)
            if not more:
                raise OSError(f"the connection of the polite caller ended after {answer!r}")
            answer += more
        self.times.append(time.monotonic() - start)

    def run(self):
        try:
            while not self.done.wait(self.pause):
                self.call()
        except OSError as problem:
            self.failed = problem

    def stop(self):
        self.done.set()
        self.join(PATIENCE)
        self.sock.close()
