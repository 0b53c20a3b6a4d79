include "include/dogs.thrift"

struct Dog extends dogs.Animal {}
