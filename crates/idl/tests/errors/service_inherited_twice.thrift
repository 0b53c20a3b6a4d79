include "include/shared.thrift"

service S extends shared.Base {
  void ping()
}
