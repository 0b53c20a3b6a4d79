//! Apache Thrift's encodings of values.
