// Apache Thrift with the code as the compiler generates it without options, one for all protocols.
#include <thrift/protocol/TBinaryProtocol.h>

#include "plain/Bench.h"
#include "thrift.h"

namespace peer {
namespace {

struct Types {
  using Service = bench_plain::BenchIf;
  using Student = bench_plain::Student;
  using Sample = bench_plain::Sample;
  using Row = bench_plain::Row;
  using Message = bench_plain::Message;
};

System threaded(const std::string& name, const std::string& configuration, Wrap wrap) {
  using apache::thrift::protocol::TBinaryProtocol;
  using apache::thrift::protocol::TBinaryProtocolFactory;
  return {name, configuration, false,
          [=](const Address& address) {
            return serve_threaded<Types, bench_plain::BenchProcessor, TBinaryProtocolFactory>(address, wrap, true);
          },
          [=](const Address& address) {
            return connect<Types, bench_plain::BenchClient, TBinaryProtocol, TTransport>(address, wrap);
          }};
}

}  // namespace

std::vector<System> thrift_defaults() {
  constexpr auto size = apache::thrift::transport::TBufferedTransport::DEFAULT_BUFFER_SIZE;
  return {
      threaded("thrift-cpp",
               "the defaults: binary protocol, generic code, 512-byte TBufferedTransport at both ends, TThreadedServer",
               buffered(size)),
      threaded("thrift-cpp-unbuffered",
               "binary protocol, generic code, no buffer between protocol and TSocket at either end, TThreadedServer",
               unbuffered),
  };
}

}  // namespace peer
