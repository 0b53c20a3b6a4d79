include "../errors/include/shared.thrift"
include "../errors/include/shared.thrift"

struct S { 1: shared.Point p }
