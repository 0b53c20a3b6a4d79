include "include/circle_a.thrift"

struct S {}
