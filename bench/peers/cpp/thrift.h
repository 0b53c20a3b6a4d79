// Apache Thrift: what its configurations have in common, whatever code they were generated as.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <future>
#include <limits>
#include <memory>
#include <vector>

#include "task.h"

namespace peer {

using apache::thrift::transport::TTransport;

// Puts a layer on a socket; the same at both ends.
using Wrap = std::function<std::shared_ptr<TTransport>(std::shared_ptr<TTransport>)>;

// The compact protocol counts the integers of all messages of a connection towards the limit of one message, which is
// 100 MiB by default: a long run would end. And a frame, by default 16,384,000 bytes, must hold 16 MiB and a bit.
inline std::shared_ptr<apache::thrift::TConfiguration> limits() {
  constexpr int most = std::numeric_limits<int>::max();
  return std::make_shared<apache::thrift::TConfiguration>(most, most);
}

inline Wrap buffered(uint32_t size) {
  return [size](auto socket) {
    return std::make_shared<apache::thrift::transport::TBufferedTransport>(socket, size, limits());
  };
}

inline std::shared_ptr<TTransport> unbuffered(std::shared_ptr<TTransport> socket) { return socket; }

struct WrapFactory : apache::thrift::transport::TTransportFactory {
  explicit WrapFactory(Wrap wrap) : wrap(std::move(wrap)) {}
  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> socket) override { return wrap(socket); }
  Wrap wrap;
};

// Serves in the background; returns when the server listens.
template <class Server>
void start(std::shared_ptr<Server> server) {
  struct Listening : apache::thrift::server::TServerEventHandler {
    void preServe() override { promise.set_value(); }
    std::promise<void> promise;
  };
  auto listening = std::make_shared<Listening>();
  server->setServerEventHandler(listening);
  in_background([server] { server->serve(); });
  listening->promise.get_future().wait();
}

template <class Types, class Client, class Protocol, class Transport>
Connection connect(const Address& address, const Wrap& wrap) {
  return [=](const Work& work) {
    using apache::thrift::transport::TSocket;
    auto socket = address.is_path() ? std::make_shared<TSocket>(address.host, limits())
                                    : std::make_shared<TSocket>(address.host, address.port, limits());
    auto transport = std::static_pointer_cast<Transport>(wrap(socket));
    transport->open();
    return make_task<Types>(std::make_shared<Client>(std::make_shared<Protocol>(transport)), work);
  };
}

// A thread for each connection. To stop while clients are connected, a server polls before each read: `interruptible`.
template <class Types, class Processor, class ProtocolFactory>
Address serve_threaded(const Address& address, const Wrap& wrap, bool interruptible) {
  using apache::thrift::transport::TServerSocket;
  auto socket = address.is_path() ? std::make_shared<TServerSocket>(address.host)
                                  : std::make_shared<TServerSocket>(address.host, address.port);
  socket->setInterruptableChildren(interruptible);
  start(std::make_shared<apache::thrift::server::TThreadedServer>(
      std::make_shared<Processor>(std::make_shared<Handler<Types>>()), socket, std::make_shared<WrapFactory>(wrap),
      std::make_shared<ProtocolFactory>()));
  return {address.host, address.is_path() ? uint16_t{0} : static_cast<uint16_t>(socket->getPort())};
}

// The systems that use the code as the compiler generates it without options.
std::vector<System> thrift_defaults();

}  // namespace peer
