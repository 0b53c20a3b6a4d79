// Apache Thrift with code generated for one protocol and transport, which is the fastest that it can generate.
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/config.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/transport/TNonblockingServerSocket.h>

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "templated/Bench.h"
#include "thrift.h"

namespace peer {
namespace {

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

// A socket of this process, for a server that is asked for none.
Address free_socket(const Address& asked) {
  if (asked.is_path()) return asked;
  return {"/tmp/dovetail-bench-thrift-" + std::to_string(getpid()) + ".sock", 0};
}

template <class Protocol, class ProtocolFactory>
System threaded(const std::string& name, const std::string& protocol, bool over_unix = false) {
  Wrap wrap = buffered(64 << 10);
  return {name,
          protocol + " protocol, code generated with templates and moveable_types, 64 KiB TBufferedTransport at both "
                     "ends, TThreadedServer" + (over_unix ? ", Unix sockets" : ""),
          false,
          [=](const Address& address) {
            Address bound = over_unix ? free_socket(address) : address;
            return serve_threaded<Types, Processor<Protocol>, ProtocolFactory>(bound, wrap, false);
          },
          [=](const Address& address) {
            return connect<Types, Client<Protocol>, Protocol, TBufferedTransport>(address, wrap);
          }};
}

// The loops run the handlers, since a thread pool costs more than it brings: two more wake-ups for each call. There are
// as many loops as callers in the largest of the blocking workloads, so that one that waits holds up nobody.
constexpr int kLoops = 64;
std::atomic<int> loops_started = 0;

// The library reports each loop that starts.
void note(const char* message) {
  if (std::strstr(message, "entering loop") == nullptr) return;
  loops_started++;
  loops_started.notify_all();
}

Address serve_nonblocking(const Address& address) {
  using Protocol = TBinaryProtocolT<TMemoryBuffer>;
  using ProtocolFactory = TBinaryProtocolFactoryT<TMemoryBuffer>;
  auto server = std::make_shared<TNonblockingServer>(
      std::make_shared<Processor<Protocol>>(std::make_shared<Handler<Types>>()), std::make_shared<ProtocolFactory>(),
      std::make_shared<TNonblockingServerSocket>(address.host, address.port));
  server->setNumIOThreads(kLoops);
  start(server);
  // A connection for a loop that has not started yet is closed at once (THRIFT-5127).
  for (int started; (started = loops_started) < kLoops;) loops_started.wait(started);
  return {address.host, static_cast<uint16_t>(server->getListenPort())};
}

// Calls wait for one of four threads. Beyond eight calls the server closes the connection of the one that has waited longest: it has no
// answer for those that it does not take.
Address serve_overload(const Address& address) {
  using Protocol = TBinaryProtocolT<TMemoryBuffer>;
  using ProtocolFactory = TBinaryProtocolFactoryT<TMemoryBuffer>;
  auto threads = apache::thrift::concurrency::ThreadManager::newSimpleThreadManager(4);
  threads->threadFactory(std::make_shared<apache::thrift::concurrency::ThreadFactory>());
  threads->start();
  auto server = std::make_shared<TNonblockingServer>(
      std::make_shared<Processor<Protocol>>(std::make_shared<Handler<Types>>()), std::make_shared<ProtocolFactory>(),
      std::make_shared<TNonblockingServerSocket>(address.host, address.port), threads);
  server->setMaxActiveProcessors(8);
  server->setOverloadAction(apache::thrift::server::T_OVERLOAD_DRAIN_TASK_QUEUE);
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
  apache::thrift::GlobalOutput.setOutputFunction(note);
  std::vector<System> systems = thrift_defaults();
  systems.push_back(threaded<TBinaryProtocolT<TBufferedTransport>, TBinaryProtocolFactoryT<TBufferedTransport>>(
      "thrift-cpp-64k", "binary"));
  systems.push_back(threaded<TBinaryProtocolT<TBufferedTransport>, TBinaryProtocolFactoryT<TBufferedTransport>>(
      "thrift-cpp-64k-unix", "binary", true));
  systems.push_back(threaded<TCompactProtocolT<TBufferedTransport>, TCompactProtocolFactoryT<TBufferedTransport>>(
      "thrift-cpp-compact-64k", "compact"));
  systems.push_back({"thrift-cpp-nonblocking",
                     "binary protocol, code generated with templates and moveable_types, TFramedTransport, "
                     "TNonblockingServer whose " + std::to_string(kLoops) + " IO threads run the handlers",
                     false, serve_nonblocking, connect_framed});
  systems.push_back({"thrift-cpp-overload",
                     "binary protocol, TFramedTransport, TNonblockingServer with 4 threads, at most 8 calls, "
                     "T_OVERLOAD_DRAIN_TASK_QUEUE",
                     false, serve_overload, connect_framed});
  return run(argc, argv, PACKAGE_VERSION, systems);
}
