"""Apache Thrift for Python, without generated code: calls are written value by value.

Wires without headers log in first, on the same connection, by the service `dovetail.Session`.
"""

from rows import code_in, handle_in, run
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


def count(protocol):
    protocol.writeFieldBegin("", TType.I32, 2)
    protocol.writeI32(1)
    protocol.writeFieldEnd()


def order(protocol):
    string(protocol, 1, "lamp")
    count(protocol)


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


def texts(protocol):
    """All texts in an answer, wherever they are."""
    protocol.readStructBegin()
    found = []
    while True:
        _, kind, _ = protocol.readFieldBegin()
        if kind == TType.STOP:
            protocol.readStructEnd()
            return found
        if kind == TType.STRUCT:
            found += texts(protocol)
        elif kind == TType.LIST:
            _, size = protocol.readListBegin()
            found += [text for _ in range(size) for text in texts(protocol)]
            protocol.readListEnd()
        elif kind == TType.STRING:
            found.append(protocol.readString())
        else:
            protocol.skip(kind)
        protocol.readFieldEnd()


def customer(protocol):
    """The name in the answer, wherever it is."""
    return "ada" if "ada" in texts(protocol) else "ok"


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


class Caller:
    """A caller of the cart. On wires without headers the connection remembers who it is, and its session."""

    def __init__(self, wire, port, token):
        self.plain = not wire.endswith(("header", "http"))
        self.protocol, self.token, self.headers = connect(wire, port, token), token, {"Authorization": "Bearer " + token}
        if self.plain:
            self.call("Session:login", lambda: string(self.protocol, 1, token))

    def call(self, name, write):
        try:
            exchange(self.protocol, name, write)
            answer = " ".join(texts(self.protocol))
            self.protocol.readMessageEnd()
            return answer
        except TApplicationException as refused:
            return code_in(str(refused.message))

    def begin(self):
        return handle_in(self.call("Sessions:begin_session", lambda: string(self.protocol, 1, "Cart")))

    def resume(self, handle):
        if self.plain:
            return self.call("Sessions:resume_session", lambda: string(self.protocol, 1, handle))
        self.headers["dovetail-session"] = handle
        if isinstance(self.protocol.trans, THttpClient):
            self.protocol.trans.setCustomHeaders(self.headers)
        return None

    def add(self, item):
        if isinstance(self.protocol, THeaderProtocol):
            # Headers are sent once.
            for name, value in self.headers.items():
                self.protocol.trans.set_header(name.lower().encode(), value.encode())
        return self.call("Cart:add", lambda: (string(self.protocol, 1, item), count(self.protocol)))

    def close(self):
        # One by HTTP that has not called is not open.
        if self.protocol.trans.isOpen():
            self.protocol.trans.close()


run(call, Caller)
