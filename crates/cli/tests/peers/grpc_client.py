"""gRPC's own library as a client that has no file: ADDRESS SERVICE METHOD MESSAGE, the message and its answer in JSON."""

import json
import sys

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

address, service, method, message = sys.argv[1:]
with grpc.insecure_channel(address) as channel:
    pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
    found = pool.FindServiceByName(service).methods_by_name[method]
    request = GetMessageClass(found.input_type)()
    json_format.ParseDict(json.loads(message), request)
    call = channel.unary_unary(
        "/%s/%s" % (service, method), lambda message: message.SerializeToString(),
        GetMessageClass(found.output_type).FromString)
    try:
        answer = json_format.MessageToDict(call(request, timeout=30))
        print(json.dumps(answer, sort_keys=True))
    except grpc.RpcError as error:
        print(error.code().name, error.details())
