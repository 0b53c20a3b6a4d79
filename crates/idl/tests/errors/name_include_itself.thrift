include "name_include_itself.thrift"

struct S {}
