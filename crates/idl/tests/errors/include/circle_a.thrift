include "circle_b.thrift"
