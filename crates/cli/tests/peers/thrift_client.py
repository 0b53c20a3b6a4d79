"""Apache Thrift's own library as a client of `mapped.thrift`, without generated code: ADDRESS HOW."""

import sys

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TFramedTransport

host, port = sys.argv[1].rsplit(":", 1)
transport = TFramedTransport(TSocket(host, int(port)))
protocol = TCompactProtocol(transport)
transport.open()


def call(name, fields):
    """The fields of the answer, by their ids."""
    protocol.writeMessageBegin(name, TMessageType.CALL, 1)
    protocol.writeStructBegin(name)
    for number, (kind, value) in fields.items():
        protocol.writeFieldBegin("", kind, number)
        protocol.writeI32(value) if kind == TType.I32 else protocol.writeString(value)
        protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()
    protocol.writeMessageEnd()
    transport.flush()
    _, kind, _ = protocol.readMessageBegin()
    if kind == TMessageType.EXCEPTION:
        error = TApplicationException()
        error.read(protocol)
        return str(error)
    return struct()


def struct():
    fields = {}
    protocol.readStructBegin()
    while True:
        _, kind, number = protocol.readFieldBegin()
        if kind == TType.STOP:
            protocol.readStructEnd()
            return fields
        fields[number] = {
            TType.I32: protocol.readI32, TType.STRING: protocol.readString, TType.STRUCT: struct,
        }[kind]()
        protocol.readFieldEnd()


if sys.argv[2] == "add":
    print(call("add", {1: (TType.I32, 40), 2: (TType.I32, 2)}))
else:
    print(call("fail", {1: (TType.STRING, sys.argv[2])}))
transport.close()
