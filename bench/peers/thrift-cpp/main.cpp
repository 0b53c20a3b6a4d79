// Apache Thrift C++ at its best: templated protocol, 64 KiB buffers at both ends, a thread per connection.
//
//   thrift-cpp server                      prints "READY <port>", serves until stdin ends
//   thrift-cpp client <port> <calls>       one blocking client; prints one round trip time in ns per line
#include "gen-cpp/Bench.h"
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <vector>

using namespace apache::thrift;
using Buffered = transport::TBufferedTransport;
using Protocol = protocol::TBinaryProtocolT<Buffered>;
constexpr uint32_t kBuffer = 64 << 10;

struct BufferedFactory : transport::TTransportFactory {
  std::shared_ptr<transport::TTransport> getTransport(std::shared_ptr<transport::TTransport> t) override {
    return std::make_shared<Buffered>(t, kBuffer);
  }
};

struct Handler : bench::BenchIf {
  int32_t get_answer(const int32_t question) override { return question; }
};

int serve() {
  auto socket = std::make_shared<transport::TServerSocket>("127.0.0.1", 0);
  server::TThreadedServer server(
      std::make_shared<bench::BenchProcessorT<Protocol>>(std::make_shared<Handler>()), socket,
      std::make_shared<BufferedFactory>(), std::make_shared<protocol::TBinaryProtocolFactoryT<Buffered>>());
  struct Ready : server::TServerEventHandler {
    std::shared_ptr<transport::TServerSocket> socket;
    void preServe() override { std::cout << "READY " << socket->getPort() << std::endl; }
  };
  auto ready = std::make_shared<Ready>();
  ready->socket = socket;
  server.setServerEventHandler(ready);
  std::thread([&] {
    while (std::getchar() != EOF) {}
    std::_Exit(0);
  }).detach();
  server.serve();
  return 0;
}

int call(int port, int calls) {
  auto socket = std::make_shared<transport::TSocket>("127.0.0.1", port);
  auto transport = std::make_shared<Buffered>(socket, kBuffer);
  bench::BenchClientT<Protocol> client(std::make_shared<Protocol>(transport));
  transport->open();
  socket->setNoDelay(true);
  std::vector<int64_t> times(calls);
  for (int i = 0; i < calls; i++) {
    auto start = std::chrono::steady_clock::now();
    if (client.get_answer(i) != i) return 1;
    times[i] = (std::chrono::steady_clock::now() - start).count();
  }
  for (int64_t t : times) std::printf("%ld\n", static_cast<long>(t));
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "server") return serve();
  if (argc == 4 && std::string(argv[1]) == "client") return call(std::stoi(argv[2]), std::stoi(argv[3]));
  std::cerr << "usage: thrift-cpp server | client PORT CALLS\n";
  return 2;
}
