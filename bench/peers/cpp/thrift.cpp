// Apache Thrift with code generated for one protocol and transport, which is the fastest that it can generate.
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/config.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/transport/TNonblockingServerSocket.h>

#include "templated/Bench.h"
#include "thrift.h"

namespace peer {
namespace {

using namespace apache::thrift::concurrency;
using namespace apache::thrift::protocol;
using namespace apache::thrift::transport;
using apache::thrift::server::TNonblockingServer;

struct Types {
  using Service = bench_templated::BenchIf;
  using Student = bench_templated::Student;
  using Sample = bench_templated::Sample;
  using Row = bench_templated::Row;
  using Message = bench_templated::Message;
};

template <class Protocol>
using Client = bench_templated::BenchClientT<Protocol>;
template <class Protocol>
using Processor = bench_templated::BenchProcessorT<Protocol>;

template <class Protocol, class ProtocolFactory>
System threaded(const std::string& name, const std::string& protocol) {
  Wrap wrap = buffered(64 << 10);
  return {name,
          protocol + " protocol, code generated with templates and moveable_types, 64 KiB TBufferedTransport at both "
                     "ends, TThreadedServer",
          false,
          [=](const Address& address) {
            return serve_threaded<Types, Processor<Protocol>, ProtocolFactory>(address, wrap, false);
          },
          [=](const Address& address) {
            return connect<Types, Client<Protocol>, Protocol, TBufferedTransport>(address, wrap);
          }};
}

Address serve_nonblocking(const Address& address) {
  using Protocol = TBinaryProtocolT<TMemoryBuffer>;
  using ProtocolFactory = TBinaryProtocolFactoryT<TMemoryBuffer>;
  auto io = std::getenv("IO") ? atoi(getenv("IO")) : 2;
  auto pool = std::getenv("POOL") ? atoi(getenv("POOL")) : 0;
  auto socket = std::make_shared<TNonblockingServerSocket>(address.host, address.port);
  std::shared_ptr<ThreadManager> workers;
  if (pool) {
    workers = ThreadManager::newSimpleThreadManager(pool);
    workers->threadFactory(std::make_shared<ThreadFactory>());
    workers->start();
  }
  auto server = std::make_shared<TNonblockingServer>(std::make_shared<Processor<Protocol>>(std::make_shared<Handler<Types>>()),
                                                     std::make_shared<ProtocolFactory>(), socket, workers);
  server->setNumIOThreads(io);
  start(server);
  return {address.host, static_cast<uint16_t>(server->getListenPort())};
}

Connection connect_framed(const Address& address) {
  using Protocol = TBinaryProtocolT<TFramedTransport>;
  return connect<Types, Client<Protocol>, Protocol, TFramedTransport>(
      address, [](auto socket) { return std::make_shared<TFramedTransport>(socket, limits()); });
}

}  // namespace
}  // namespace peer

int main(int argc, char** argv) {
  using namespace peer;
  std::vector<System> systems = thrift_defaults();
  systems.push_back(threaded<TBinaryProtocolT<TBufferedTransport>, TBinaryProtocolFactoryT<TBufferedTransport>>(
      "thrift-cpp-64k", "binary"));
  systems.push_back(threaded<TCompactProtocolT<TBufferedTransport>, TCompactProtocolFactoryT<TBufferedTransport>>(
      "thrift-cpp-compact-64k", "compact"));
  systems.push_back({"thrift-cpp-nonblocking",
                     "binary protocol, code generated with templates and moveable_types, framed, TNonblockingServer",
                     false, serve_nonblocking, connect_framed});
  return run(argc, argv, PACKAGE_VERSION, systems);
}
