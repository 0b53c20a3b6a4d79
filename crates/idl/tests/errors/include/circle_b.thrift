include "circle_a.thrift"
