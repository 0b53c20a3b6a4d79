include "include/shared.thrift"
include "include/deep/shared.thrift"

struct S {}
