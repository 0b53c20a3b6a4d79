"""Apache Thrift for Python, without generated code: calls are written value by value.

Wires without headers log in first, on the same connection, by the service `dovetail.Session`.
"""

from rows import code_in, run
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.THeaderProtocol import THeaderProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.THeaderTransport import THeaderClientType, THeaderSubprotocolID
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport


def connect(wire, port, token):
    encoding, _, transport = wire.partition("+")
    protocol = {"binary": TBinaryProtocol, "compact": TCompactProtocol}[encoding]
    socket = TSocket("127.0.0.1", port)
    socket.setTimeout(20_000)
    bearer = "Bearer " + token
    if transport == "http":
        client = THttpClient("http://127.0.0.1:%d/" % port)
        if token:
            client.setCustomHeaders({"Authorization": bearer})
        return protocol(client)
    if transport == "header":
        subprotocol = {
            "binary": THeaderSubprotocolID.BINARY, "compact": THeaderSubprotocolID.COMPACT,
        }[encoding]
        made = THeaderProtocol(socket, (THeaderClientType.HEADERS,), subprotocol)
        made.trans.open()
        if token:
            made.trans.set_header(b"authorization", bearer.encode())
        return made
    around = TFramedTransport(socket) if transport == "framed" else TBufferedTransport(socket)
    around.open()
    return protocol(around)


def exchange(protocol, name, write):
    """Makes one call, and gives the reply's protocol behind its head; an exception for a refusal."""
    protocol.writeMessageBegin(name, TMessageType.CALL, 1)
    protocol.writeStructBegin("args")
    write()
    protocol.writeFieldStop()
    protocol.writeStructEnd()
    protocol.writeMessageEnd()
    protocol.trans.flush()
    _, kind, _ = protocol.readMessageBegin()
    if kind == TMessageType.EXCEPTION:
        refused = TApplicationException()
        refused.read(protocol)
        protocol.readMessageEnd()
        raise refused


def string(protocol, number, value):
    protocol.writeFieldBegin("", TType.STRING, number)
    protocol.writeString(value)
    protocol.writeFieldEnd()


def order(protocol):
    string(protocol, 1, "lamp")
    protocol.writeFieldBegin("", TType.I32, 2)
    protocol.writeI32(1)
    protocol.writeFieldEnd()


def broken(protocol):
    # A text where the contract has a number, and a number where it has a text.
    protocol.writeFieldBegin("", TType.I32, 1)
    protocol.writeI32(1)
    protocol.writeFieldEnd()
    string(protocol, 2, "lamp")


def identifier(protocol):
    protocol.writeFieldBegin("", TType.I64, 1)
    protocol.writeI64(1)
    protocol.writeFieldEnd()


def customer(protocol):
    """The name in the answer, wherever it is."""
    protocol.readStructBegin()
    found = "ok"
    while True:
        _, kind, _ = protocol.readFieldBegin()
        if kind == TType.STOP:
            protocol.readStructEnd()
            return found
        if kind == TType.STRUCT:
            inner = customer(protocol)
            found = inner if inner == "ada" else found
        elif kind == TType.LIST:
            _, size = protocol.readListBegin()
            found = "ada" if "ada" in [customer(protocol) for _ in range(size)] else found
            protocol.readListEnd()
        elif kind == TType.STRING:
            text = protocol.readString()
            found = text if text == "ada" else found
        else:
            protocol.skip(kind)
        protocol.readFieldEnd()


def call(wire, port, token, method):
    protocol = connect(wire, port, token)
    try:
        if token and not wire.endswith(("header", "http")):
            exchange(protocol, "Session:login", lambda: string(protocol, 1, token))
            customer(protocol)
            protocol.readMessageEnd()
        name = "place" if method == "broken" else method
        write = {
            "place": order, "broken": broken, "all": lambda protocol: None,
            "find": identifier,
        }[method]
        exchange(protocol, "Orders:" + name, lambda: write(protocol))
        return customer(protocol)
    except TApplicationException as refused:
        return code_in(str(refused.message))
    finally:
        protocol.trans.close()


run(call)
