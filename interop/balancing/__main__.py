"""A channel of Dovetail to several stock servers, which come and go: gRPC's in Python and Go, and Apache Thrift's.

    python3 interop/balancing PROGRAM GO      # PROGRAM is `examples/balancing`, GO is `interop/peers/grpc-go`

Each server is a process of its own. While the program calls, one is asked to end and started again, and another one is killed.
"""

import concurrent.futures
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import grpc
from grpc_health.v1.health import HealthServicer
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.Thrift import TApplicationException, TMessageType, TProcessor, TType
from thrift.server.TServer import TThreadedServer
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TFramedTransportFactory

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from ports import free_port

SERVERS = 3


class Fleet(TProcessor):
    """Answers any method with a number, by Thrift, without generated code, and `ping` with nothing; after SIGUSR1 that fails."""

    def __init__(self, number):
        self.number = number
        self.ready = True
        signal.signal(signal.SIGUSR1, self.toggle)

    def toggle(self, *_):
        self.ready = not self.ready

    def process(self, received, answered):
        name, _, call = received.readMessageBegin()
        received.skip(TType.STRUCT)
        received.readMessageEnd()
        if name == "ping":
            return self.ping(call, answered)
        answered.writeMessageBegin(name, TMessageType.REPLY, call)
        answered.writeStructBegin("result")
        answered.writeFieldBegin("success", TType.I32, 0)
        answered.writeI32(self.number)
        answered.writeFieldEnd()
        answered.writeFieldStop()
        answered.writeStructEnd()
        answered.writeMessageEnd()
        answered.trans.flush()
        return True


    def ping(self, call, answered):
        kind = TMessageType.REPLY if self.ready else TMessageType.EXCEPTION
        answered.writeMessageBegin("ping", kind, call)
        if self.ready:
            answered.writeStructBegin("result")
            answered.writeFieldStop()
            answered.writeStructEnd()
        else:
            TApplicationException(TApplicationException.INTERNAL_ERROR, "not now").write(answered)
        answered.writeMessageEnd()
        answered.trans.flush()
        return True


def serve_thrift(number, port):
    transport = TServerSocket("127.0.0.1", port)
    server = TThreadedServer(Fleet(number), transport, TFramedTransportFactory(), TBinaryProtocolFactory(), daemon=True)
    transport.listen()
    transport.listen = lambda: None
    print("ready", flush=True)
    server.serve()


class AnyMethod(grpc.GenericRpcHandler):
    """Answers any method with a number as field 1."""

    def __init__(self, number):
        self.answer = b"\x08" + bytes([number])

    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.answer)


def serve_grpc(number, port):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((AnyMethod(number),))
    health = HealthServicer()
    add_HealthServicer_to_server(health, server)
    health.set("", HealthCheckResponse.SERVING)
    server.add_insecure_port("127.0.0.1:%d" % port)
    server.start()
    print("ready", flush=True)
    # The process is asked to end: calls that run come to their end.
    while signal.sigwait([signal.SIGTERM, signal.SIGUSR1]) == signal.SIGUSR1:
        health.set("", HealthCheckResponse.NOT_SERVING)
    server.stop(5).wait()


KINDS = {
    "thrift": (serve_thrift, "binary+framed", ["--ping", "ping"]),
    "grpc": (serve_grpc, "grpc", ["--health"]),
}


def start(kind, number, port):
    process = subprocess.Popen([sys.executable, __file__, kind, str(number), str(port)], stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() != "ready\n":
        raise SystemExit("a server does not start")
    return process


def check(program, kind):
    """Servers are ended and killed amid calls that may run twice: none fails, and all servers get calls again."""
    ports = [free_port() for _ in range(SERVERS)]
    servers = [start(kind, number, port) for number, port in enumerate(ports)]
    with tempfile.NamedTemporaryFile("w", suffix=".servers") as listed:
        listed.write("".join("tcp://127.0.0.1:%d\n" % port for port in ports))
        listed.flush()
        name = "file://" + listed.name
        words = [program, "call", name, "--wire", KINDS[kind][1], "--policy", "round_robin", "--seconds", "6"]
        calls = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(1.5)
            servers[1].terminate()
            servers[1].wait()
            time.sleep(0.5)
            servers[1] = start(kind, 1, ports[1])
            time.sleep(1)
            servers[2].kill()
            servers[2].wait()
            output, _ = calls.communicate(timeout=60)
        finally:
            for server in servers:
                server.kill()
                server.wait()
    lines = output.splitlines()
    print("\n".join("  " + line for line in lines))
    if calls.returncode != 0 or "failed: 0" not in lines:
        raise SystemExit("calls by %s have failed" % kind)
    counts = {int(line.split()[1][:-1]): int(line.split()[2]) for line in lines if line.startswith("server ")}
    # A server that was ended amid calls may be ejected: then it has no more than its third of the first 1,500.
    if len(counts) != SERVERS or counts[0] < counts[1] or counts[1] < 400 or counts[2] < 500:
        raise SystemExit("the calls by %s are spread in a strange way: %r" % (kind, counts))


def check_health(program, kind):
    """One of two servers says that it is not ready, in its own way: the other one gets all calls."""
    ports = [free_port() for _ in range(2)]
    servers = [start(kind, number, port) for number, port in enumerate(ports)]
    try:
        servers[1].send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        name = ",".join("tcp://127.0.0.1:%d" % port for port in ports)
        words = [program, "call", name, "--wire", KINDS[kind][1], "--policy", "round_robin", "--seconds", "1"]
        checked = subprocess.run(words + KINDS[kind][2], stdout=subprocess.PIPE, text=True, timeout=60).stdout
        unchecked = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60).stdout
    finally:
        for server in servers:
            server.kill()
            server.wait()
    if "failed: 0" not in checked or "server 0" not in checked or "server 1:" in checked:
        raise SystemExit("a server of %s that is not ready gets calls:\n%s" % (kind, checked))
    if "server 1:" not in unchecked:
        raise SystemExit("without checks the server of %s gets no calls:\n%s" % (kind, unchecked))
    print("  a server that is not ready gets no calls")


UTILIZATIONS = [0.9, 0.3, 0.3]


def start_reporting(words):
    # The program of Go ends with its input.
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split("//")[-1].split()[-1]


def check_weights(program, go):
    """A server that reports three times the load of two others gets a third of the calls of each: ours called by gRPC's library for Go,
    and its servers by our channel."""
    config = '{"loadBalancingConfig":[{"weighted_round_robin":{"blackoutPeriod":"0.5s"}}]}'
    ours = lambda number, used: [program, "serve", str(number), "--utilization", str(used)]
    theirs = lambda number, used: [go, "reporting", "127.0.0.1:0", str(number), str(used)]
    by_ours = lambda places: [program, "call", ",".join("tcp://" + place for place in places), "--wire", "grpc",
                              "--service-config", config, "--seconds", "6"]
    by_theirs = lambda places: [go, "weighing", "4000"] + places
    for what, server, client in [("servers of gRPC for Go", theirs, by_ours), ("calls of gRPC for Go", ours, by_theirs)]:
        servers = [start_reporting(server(number, used)) for number, used in enumerate(UTILIZATIONS)]
        try:
            words = client([place for _, place in servers])
            lines = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60).stdout.splitlines()
        finally:
            for process, _ in servers:
                process.kill()
                process.wait()
        counts = {int(line.split()[1][:-1]): int(line.split()[2]) for line in lines if line.startswith("server ")}
        print("  %s, by reported load: %r" % (what, counts))
        if len(counts) != 3 or any(counts[number] < 1.7 * counts[0] for number in (1, 2)):
            raise SystemExit("the calls do not follow the reported load:\n%s" % "\n".join(lines))


def main():
    if len(sys.argv) == 4:
        kind, number, port = sys.argv[1:]
        # Where SIGTERM is waited for, it must not end the process before.
        if kind == "grpc":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
        return KINDS[kind][0](int(number), int(port))
    for kind in KINDS:
        print("a channel to %d servers of %s" % (SERVERS, kind), flush=True)
        check(sys.argv[1], kind)
        check_health(sys.argv[1], kind)
    print("servers that report their load", flush=True)
    check_weights(*sys.argv[1:])


main()
