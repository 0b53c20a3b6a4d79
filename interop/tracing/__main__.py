"""One trace through four programs: a stock gRPC client, two servers of Dovetail, and a stock Thrift server. And their metrics.

    python3 interop/tracing PROGRAM      # PROGRAM is `examples/tracing`

    grpcio, instrumented by OpenTelemetry ──gRPC──► front ──Dovetail's own wire──► back ──THeader──► Apache Thrift
                     │                                │                             │
                     └─────────────OTLP───────────────┴──► a collector ◄────────────┘

The collector is a server of grpcio with OpenTelemetry's own messages. The Thrift server has no spans: it keeps the headers that it gets.
The front server has its collector from the program, the back server from a file.
"""

import concurrent.futures
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.grpc import client_interceptor
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from thrift.protocol.THeaderProtocol import THeaderProtocolFactory
from thrift.Thrift import TApplicationException, TMessageType, TProcessor, TType
from thrift.server.TServer import TThreadedServer
from thrift.transport.THeaderTransport import THeaderClientType
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TTransportFactoryBase

SECONDS = 20
SERVER, CLIENT = 2, 3
CUMULATIVE = 2


class Metrics(metrics_service_pb2_grpc.MetricsServiceServicer):
    """Keeps the last metrics of each service, by their names."""

    def __init__(self):
        self.services = {}

    def Export(self, request, _):
        for resource in request.resource_metrics:
            service = texts(resource.resource.attributes)["service.name"]
            self.services[service] = {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}
        return metrics_service_pb2.ExportMetricsServiceResponse()

    def wait(self, service, ready):
        """The metrics of a service, once they are as they should be."""
        end = time.monotonic() + SECONDS
        while not ready(self.services.get(service, {})) and time.monotonic() < end:
            time.sleep(0.05)
        return self.services[service]


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps all spans, with the names of their services."""

    def __init__(self):
        self.spans = []
        self.environments = {}
        self.metrics = Metrics()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self.server)
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(self.metrics, self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def Export(self, request, _):
        for resource in request.resource_spans:
            attributes = texts(resource.resource.attributes)
            service = attributes["service.name"]
            self.environments[service] = attributes.get("deployment.environment.name")
            for scope in resource.scope_spans:
                self.spans += [(service, scope.scope.name, span) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()

    def wait(self, count):
        end = time.monotonic() + SECONDS
        while len(self.spans) < count and time.monotonic() < end:
            time.sleep(0.05)
        return self.spans


class Greeter(TProcessor):
    """Answers `greet` by Thrift, without generated code."""

    def __init__(self):
        self.headers = []

    def process(self, received, answered):
        name, _, number = received.readMessageBegin()
        self.headers.append(dict(received.trans.get_headers()))
        received.readStructBegin()
        who = ""
        while True:
            _, kind, _ = received.readFieldBegin()
            if kind == TType.STOP:
                break
            who = received.readString()
            received.readFieldEnd()
        received.readStructEnd()
        received.readMessageEnd()
        if who == "nobody":
            answered.writeMessageBegin(name, TMessageType.EXCEPTION, number)
            TApplicationException(TApplicationException.INTERNAL_ERROR, "there is nobody").write(answered)
        else:
            answered.writeMessageBegin(name, TMessageType.REPLY, number)
            answered.writeStructBegin("result")
            answered.writeFieldBegin("success", TType.STRING, 0)
            answered.writeString("Hello, %s!" % who)
            answered.writeFieldEnd()
            answered.writeFieldStop()
            answered.writeStructEnd()
        answered.writeMessageEnd()
        answered.trans.flush()
        return True


def serve_thrift(greeter):
    socket = TServerSocket("127.0.0.1", 0)
    socket.listen()
    port = socket.handle.getsockname()[1]
    # It listens already.
    socket.listen = lambda: None
    factory = THeaderProtocolFactory((THeaderClientType.HEADERS,))
    server = TThreadedServer(greeter, socket, TTransportFactoryBase(), factory, daemon=True)
    threading.Thread(target=server.serve, daemon=True).start()
    return port


CONFIG = """
[server]
listen = ["tcp://127.0.0.1:0"]

[telemetry]
collector = "collector"
service = "back"
attributes = { "deployment.environment.name" = "test" }
interval = "1s"

[channels.collector]
address = "tcp://127.0.0.1:%d"

[channels.next]
address = "tcp://127.0.0.1:%d"
wire = "binary+header"
"""


def start(program, *words):
    process = subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if not line.startswith("listening on tcp://"):
        raise SystemExit("a link does not start: %r" % line)
    return process, line.strip().removeprefix("listening on ")


def text(value):
    """A message with a text in field 1."""
    return b"\x0a" + bytes([len(value)]) + value.encode()


def check(what, found, expected):
    if found != expected:
        raise SystemExit("%s: %r, and not %r" % (what, found, expected))


def texts(attributes):
    return {each.key: each.value.string_value for each in attributes}


def call(collector, address, name):
    """Calls as an application would that has installed OpenTelemetry's own instrumentation."""
    provider = TracerProvider(resource=Resource.create({"service.name": "caller"}))
    exporter = OTLPSpanExporter("http://127.0.0.1:%d" % collector.port, insecure=True)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    channel = grpc.insecure_channel(address.removeprefix("tcp://"))
    channel = intercept_channel(channel, client_interceptor(provider))
    greet = channel.unary_unary("/Greeter/greet", request_serializer=text, response_deserializer=lambda answer: answer)
    try:
        return greet(name, timeout=SECONDS)
    except grpc.RpcError as error:
        return error.code()


def check_chain(spans, headers, code):
    """Each span is the child of the one before."""
    by = {(service, span.kind): span for service, _, span in spans}
    path = [("caller", CLIENT), ("front", SERVER), ("front", CLIENT), ("back", SERVER), ("back", CLIENT)]
    check("spans", sorted(by), sorted(path))
    parent = b""
    for place, wire in zip(path, ["", "grpc", "dovetail", "dovetail", "binary+header"], strict=True):
        span = by[place]
        check("the parent of %s %d" % place, span.parent_span_id, parent)
        check("the trace of %s %d" % place, span.trace_id, by[path[0]].trace_id)
        parent = span.span_id
        if place[0] == "caller":
            continue
        check("the times of %s" % place[0], span.start_time_unix_nano <= span.end_time_unix_nano, True)
        check("the name of %s" % place[0], span.name, "Greeter/greet")
        check("the status of %s" % place[0], span.status.code, 0 if code == "OK" else 2)
        found = texts(span.attributes)
        check("the wire of %s" % place[0], found["dovetail.wire"], wire)
        check("the code of %s" % place[0], found["rpc.response.status_code"], code)
    expected = "00-%s-%s-01" % (by[path[0]].trace_id.hex(), parent.hex())
    check("the header of the Thrift server", headers[b"traceparent"].decode(), expected)


def outcomes(metrics):
    """The calls that have ended, by wire and code."""
    ended = metrics.get("dovetail.server.calls_ended")
    points = ended.sum.data_points if ended else []
    found = [(texts(point.attributes), point.as_int) for point in points]
    return {(labels["dovetail.wire"], labels["rpc.response.status_code"]): calls for labels, calls in found}


def check_metrics(collector, service, wire, system):
    """Two calls: one was answered, one has failed."""
    expected = {(wire, "OK"): 1, (wire, "INTERNAL"): 1}
    metrics = collector.metrics.wait(service, lambda metrics: outcomes(metrics) == expected)
    check("the calls of %s" % service, outcomes(metrics), expected)
    ended = metrics["dovetail.server.calls_ended"]
    check("a counter", (ended.unit, ended.sum.is_monotonic, ended.sum.aggregation_temporality), ("{call}", True, CUMULATIVE))
    times = metrics["rpc.server.call.duration"]
    check("the unit of times", times.unit, "s")
    (point,) = times.histogram.data_points
    labels = texts(point.attributes)
    check("the method", [labels[key] for key in ("rpc.method", "rpc.system.name")], ["Greeter/greet", system])
    check("the buckets", (len(point.bucket_counts), sum(point.bucket_counts), point.count), (len(point.explicit_bounds) + 1, 2, 2))
    check("the order of the bounds", list(point.explicit_bounds), sorted(point.explicit_bounds))
    check("a sum of times", 0 < point.sum < SECONDS, True)
    check("the start", 0 < point.start_time_unix_nano < point.time_unix_nano, True)
    running = metrics["dovetail.server.calls_in_flight"].sum
    check("calls that run", (running.is_monotonic, [each.as_int for each in running.data_points]), (False, [0]))
    check("bytes", [each.as_int > 0 for each in metrics["dovetail.server.received_bytes"].sum.data_points], [True])
    check("a counter of the server", metrics["dovetail.server.calls"].sum.data_points[0].as_int >= 2, True)
    started = metrics.get("grpc.server.call.started")
    points = started.sum.data_points if started else []
    found = [(texts(each.attributes)["grpc.method"], each.as_int) for each in points]
    check("calls of gRPC", found, [("Greeter/greet", 2)] if wire == "grpc" else [])


def main():
    program = sys.argv[1]
    greeter = Greeter()
    collector = Collector()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(CONFIG % (collector.port, serve_thrift(greeter)))
        config.flush()
        back, address = start(program, "--config", config.name)
    to = ["--every", "1", "--collector", "tcp://127.0.0.1:%d" % collector.port]
    front, address = start(program, "--listen", "tcp://127.0.0.1:0", "--next", address, *to)
    try:
        check("the answer", call(collector, address, "Ada"), text("Hello, Ada!"))
        check_chain(collector.wait(5), greeter.headers[0], "OK")
        collector.spans.clear()
        check("the failure", call(collector, address, "nobody"), grpc.StatusCode.INTERNAL)
        check_chain(collector.wait(5), greeter.headers[1], "INTERNAL")
        check("environments", (collector.environments["front"], collector.environments["back"]), (None, "test"))
        check_metrics(collector, "front", "grpc", "grpc")
        check_metrics(collector, "back", "dovetail", "dovetail")
    finally:
        front.kill()
        back.kill()
    print("two traces of five spans, each the child of the one before; metrics of both servers")


if __name__ == "__main__":
    main()
