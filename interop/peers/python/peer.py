"""The Python peer: Apache Thrift's own library, spoken to through the common command line."""

import argparse
import json
import os
import socket
import ssl
import sys
import threading

from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.protocol.TCompactProtocol import TCompactProtocolFactory
from thrift.protocol.THeaderProtocol import THeaderProtocolFactory
from thrift.protocol.TJSONProtocol import TJSONProtocolFactory
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.server.THttpServer import THttpServer
from thrift.server.TNonblockingServer import TNonblockingServer
from thrift.server.TServer import TThreadedServer
from thrift.TMultiplexedProcessor import TMultiplexedProcessor
from thrift.transport.THeaderTransport import (
    THeaderClientType,
    THeaderSubprotocolID,
    THeaderTransformID,
)
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TSSLSocket import TSSLServerSocket, TSSLSocket
from thrift.transport.TTransport import (
    TBufferedTransportFactory,
    TFramedTransportFactory,
    TTransportFactoryBase,
)
from thrift.transport.TZlibTransport import TZlibTransport, TZlibTransportFactory

import cases
import golden
import msgpack_rpc
from handler import Handler, SecondHandler
from interop import Interop, Second

PROTOCOLS = ("binary", "binary-nonstrict", "compact", "json")
RPC = "msgpack-rpc"
HEADER_PROTOCOLS = {
    "binary": THeaderSubprotocolID.BINARY,
    "compact": THeaderSubprotocolID.COMPACT,
}
SECONDS = 30


def capabilities():
    every = ["client", "server"]
    out = []

    def add(protocols, transport, roles, multiplexed=(False, True), **more):
        for protocol in protocols:
            for multi in multiplexed:
                entry = {"protocol": protocol, "transport": transport, "multiplexed": multi}
                out.append({**entry, "roles": roles, **more})

    add(PROTOCOLS, "buffered", every, unix=True)
    add(PROTOCOLS, "framed", every, unix=True)
    add(PROTOCOLS, "zlib", every, unix=True)
    add(PROTOCOLS, "http", every, unix=False)
    add(PROTOCOLS, "nonblocking", ["server"], wire="framed", unix=False)
    add(HEADER_PROTOCOLS, "header", every, unix=True)
    add(HEADER_PROTOCOLS, "header-zlib", every, unix=True)
    add(("binary", "compact"), "tls", every, (False,), unix=False)
    add((RPC,), "buffered", every, unix=True)
    add(("json", "binary-nonstrict"), "header", [], (False,),
        reason="THeaderProtocol knows the subprotocols binary (strict) and compact only")
    return out


def allowed_client_types():
    return (
        THeaderClientType.HEADERS,
        THeaderClientType.FRAMED_BINARY,
        THeaderClientType.UNFRAMED_BINARY,
        THeaderClientType.FRAMED_COMPACT,
        THeaderClientType.UNFRAMED_COMPACT,
    )


def protocol_factory(options):
    if options.transport.startswith("header"):
        if options.protocol not in HEADER_PROTOCOLS:
            sys.exit("header carries binary or compact, not " + options.protocol)
        return THeaderProtocolFactory(
            allowed_client_types(), HEADER_PROTOCOLS[options.protocol])
    return {
        "binary": TBinaryProtocolFactory(strictRead=True, strictWrite=True),
        "binary-nonstrict": TBinaryProtocolFactory(strictRead=False, strictWrite=False),
        "compact": TCompactProtocolFactory(),
        "json": TJSONProtocolFactory(),
    }[options.protocol]


class ZlibFactory(TZlibTransportFactory):
    """TZlibTransportFactory over a buffer: bare sockets read byte by byte."""

    def getTransport(self, trans):
        return TZlibTransport(TBufferedTransportFactory().getTransport(trans))


def transport_factory(options):
    return {
        "buffered": TBufferedTransportFactory,
        "tls": TBufferedTransportFactory,
        "framed": TFramedTransportFactory,
        "nonblocking": TFramedTransportFactory,
        "zlib": ZlibFactory,
        "header": TTransportFactoryBase,
        "header-zlib": TTransportFactoryBase,
    }[options.transport]()


def host_and_port(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


# ----- server


def ready(address):
    print("READY " + address, flush=True)


def context(side):
    """Both ends show a certificate, and trust the same root.

    Without a context of its own, a server that wants certificates fails: it checks its client's name, and has none."""
    folder = os.environ["INTEROP_CERTIFICATES"]
    made = ssl.SSLContext(side)
    made.load_cert_chain(os.path.join(folder, "peer.pem"), os.path.join(folder, "peer.key"))
    made.load_verify_locations(os.path.join(folder, "ca.pem"))
    made.verify_mode = ssl.CERT_REQUIRED
    return made


class Ready:
    """Says the address of a server's socket as soon as it listens."""

    def listen(self):
        super().listen()
        if self._unix_socket:
            ready("unix:" + self._unix_socket)
        else:
            ready("%s:%d" % self.handle.getsockname()[:2])


class ReadySocket(Ready, TServerSocket):
    pass


class ReadyTlsSocket(Ready, TSSLServerSocket):
    pass


def exit_with_stdin():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def serve(options):
    if options.protocol == RPC:
        threading.Thread(target=exit_with_stdin, daemon=True).start()
        services = {"Interop": (Interop, Handler()), "Second": (Second, SecondHandler())}
        msgpack_rpc.serve(services, options.address, ready)
        return
    processor = Interop.Processor(Handler())
    if options.multiplexed:
        multi = TMultiplexedProcessor()
        multi.registerProcessor("Interop", processor)
        multi.registerProcessor("Second", Second.Processor(SecondHandler()))
        processor = multi
    threading.Thread(target=exit_with_stdin, daemon=True).start()
    protocol = protocol_factory(options)
    if options.transport == "http":
        server = THttpServer(processor, host_and_port(options.address), protocol,
                             max_body_size=1 << 27)
        ready("%s:%d" % server.httpd.socket.getsockname()[:2])
        server.serve()
        return
    if options.address.startswith("unix:"):
        path = options.address[len("unix:"):]
        listener = ReadySocket(unix_socket=path)
    elif options.transport == "tls":
        host, port = host_and_port(options.address)
        listener = ReadyTlsSocket(host, port, ssl_context=context(ssl.PROTOCOL_TLS_SERVER))
    else:
        host, port = host_and_port(options.address)
        listener = ReadySocket(host=host, port=port, socket_family=socket.AF_INET)
    if options.transport == "nonblocking":
        server = TNonblockingServer(processor, listener, protocol, protocol, threads=4)
        server.serve()
        return
    # A server with one factory uses the same transport object for both directions,
    # which the header transport needs.
    server = TThreadedServer(processor, listener, transport_factory(options), protocol,
                             daemon=True)
    server.serve()


# ----- client


class Connector:
    """Opens connections as the options say; cases ask it for clients."""

    def __init__(self, options):
        self.multiplexed = options.multiplexed
        self.http = options.transport == "http"
        self._options = options
        self._open = []

    def transport(self):
        options = self._options
        if self.http:
            trans = THttpClient("http://%s/" % options.address)
            trans.setTimeout(SECONDS * 1000)
        else:
            if options.address.startswith("unix:"):
                sock = TSocket(unix_socket=options.address[len("unix:"):])
            else:
                host, port = host_and_port(options.address)
                if options.transport == "tls":
                    sock = TSSLSocket(host, port, ssl_context=context(ssl.PROTOCOL_TLS_CLIENT))
                else:
                    sock = TSocket(host, port, socket_family=socket.AF_INET)
            sock.setTimeout(SECONDS * 1000)
            trans = transport_factory(options).getTransport(sock)
        trans.open()
        self._open.append(trans)
        return trans

    def protocol(self):
        protocol = protocol_factory(self._options).getProtocol(self.transport())
        if self._options.transport == "header-zlib":
            protocol.add_transform(THeaderTransformID.ZLIB)
        return protocol

    def named(self, protocol, service):
        return TMultiplexedProtocol(protocol, service) if self.multiplexed else protocol

    def client(self, module, service="Interop"):
        (client,) = self.clients((module, service))
        return client

    def clients(self, *services):
        """Clients of services on one connection."""
        if self._options.protocol == RPC:
            connection = msgpack_rpc.Connection(self._options.address)
            self._open.append(connection)
            prefix = lambda service: service + "." if self.multiplexed else ""
            return [msgpack_rpc.ServiceClient(module, connection, prefix(service))
                    for module, service in services]
        protocol = self.protocol()
        return [module.Client(self.named(protocol, service)) for module, service in services]

    def close_all(self):
        for trans in self._open:
            trans.close()
        self._open.clear()


def run_client(options):
    connector = Connector(options)
    failed = False
    for name, case in cases.CASES.items():
        if options.case and name != options.case:
            continue
        try:
            detail = case(connector)
            result = "ok"
        except cases.Skip as skip:
            result, detail = "skip", str(skip)
        except Exception as error:  # whatever the library throws is the finding
            result, detail = "fail", "%s: %s" % (type(error).__name__, error)
            failed = True
        connector.close_all()
        line = {"case": name, "result": result, "detail": (detail or "")[:300]}
        print(json.dumps(line), flush=True)
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser(prog="python-peer")
    commands = parser.add_subparsers(dest="command", required=True)
    for role in ("server", "client"):
        sub = commands.add_parser(role)
        sub.add_argument("--protocol", choices=(*PROTOCOLS, RPC), default="binary")
        sub.add_argument("--transport", default="buffered", choices=(
            "buffered", "framed", "nonblocking", "header", "header-zlib", "http", "zlib", "tls"))
        sub.add_argument("--address", required=True)
        sub.add_argument("--multiplexed", action="store_true")
        if role == "client":
            sub.add_argument("--case")
    commands.add_parser("capabilities")
    sub = commands.add_parser("golden")
    sub.add_argument("directory", help="interop/golden: has values.json, gets python/")
    options = parser.parse_args()
    if options.command == "capabilities":
        print(json.dumps(capabilities(), indent=1))
    elif options.command == "golden":
        import carriers  # protobuf's library takes its time

        golden.write_all(options.directory, options.directory)
        carriers.write_all(options.directory, options.directory)
    elif options.command == "server":
        serve(options)
    else:
        run_client(options)


if __name__ == "__main__":
    main()
