//! Apache Thrift's call protocol.
