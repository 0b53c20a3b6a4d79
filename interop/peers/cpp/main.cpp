// The C++ peer: Apache Thrift's own library, spoken to through the common command line.

#include <thrift/Thrift.h>
#include <thrift/TOutput.h>
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/processor/TMultiplexedProcessor.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/protocol/TMultiplexedProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/THeaderTransport.h>
#include <thrift/transport/THttpClient.h>
#include <thrift/transport/THttpServer.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TZlibTransport.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "connector.h"
#include "handler.h"

using namespace apache::thrift;
using namespace apache::thrift::protocol;
using namespace apache::thrift::server;
using namespace apache::thrift::transport;

// The generator declares the order of keys and leaves it to the user.
bool interop::Key::operator<(const Key& other) const {
  return number != other.number ? number < other.number : word < other.word;
}

namespace {

const int kTimeout = 30000;

[[noreturn]] void fail(const std::string& message) {
  std::cerr << message << std::endl;
  std::exit(2);
}

void capabilities() {
  std::string out;
  auto add = [&out](const std::vector<std::string>& protocols, const std::string& transport,
                    const std::string& roles, const std::string& more) {
    for (const auto& protocol : protocols) {
      for (const char* multiplexed : {"false", "true"}) {
        out += std::string(out.empty() ? "[" : ",") + "\n {\"protocol\": \"" + protocol +
               "\", \"transport\": \"" + transport + "\", \"multiplexed\": " + multiplexed +
               ", \"roles\": [" + roles + "], " + more + "}";
      }
    }
  };
  const std::vector<std::string> all{"binary", "binary-nonstrict", "compact", "json"};
  const std::vector<std::string> sub{"binary", "compact"};
  const std::string both = "\"client\", \"server\"";
  add(all, "buffered", both, "\"unix\": true");
  add(all, "framed", both, "\"unix\": true");
  add(all, "zlib", both, "\"unix\": true");
  add(all, "http", both, "\"unix\": false");
  add(all, "nonblocking", "\"server\"", "\"unix\": true, \"wire\": \"framed\"");
  add(sub, "header", both, "\"unix\": true");
  add(sub, "header-zlib", "\"client\"",
      "\"unix\": true, \"reason\": \"THeaderTransport::untransform copies what it inflated over the "
      "smaller buffer of the frame: the server crashes\"");
  add({"json", "binary-nonstrict"}, "header", "",
      "\"unix\": false, \"reason\": \"THeaderProtocol knows the subprotocols binary (strict) and "
      "compact only\"");
  std::cout << out << "\n]" << std::endl;
}

void exit_with_stdin() {
  std::thread([] {
    char buffer[4096];
    while (read(0, buffer, sizeof buffer) > 0) {
    }
    _exit(0);
  }).detach();
}

/// Says the address as soon as the server listens.
class Ready : public TServerEventHandler {
 public:
  Ready(std::function<int()> port, const Options& options) : port_(port), options_(options) {}

  void preServe() override {
    if (options_.is_unix()) {
      std::cout << "READY " << options_.address << std::endl;
    } else {
      std::cout << "READY " << options_.host() << ":" << port_() << std::endl;
    }
  }

 private:
  std::function<int()> port_;
  const Options& options_;
};

std::shared_ptr<TTransportFactory> transport_factory(const Options& options) {
  if (options.transport == "framed") return std::make_shared<TFramedTransportFactory>();
  if (options.transport == "http") return std::make_shared<THttpServerTransportFactory>();
  if (options.transport == "zlib") {
    return std::make_shared<TZlibTransportFactory>(std::make_shared<TBufferedTransportFactory>());
  }
  if (options.transport == "buffered" || options.is_header()) {
    return std::make_shared<TBufferedTransportFactory>();
  }
  fail("no such transport: " + options.transport);
}

void serve(const Options& options) {
  std::shared_ptr<TProcessor> processor =
      std::make_shared<interop::InteropProcessor>(std::make_shared<Handler>());
  if (options.multiplexed) {
    auto multi = std::make_shared<TMultiplexedProcessor>();
    multi->registerProcessor("Interop", processor);
    multi->registerProcessor(
        "Second", std::make_shared<interop::SecondProcessor>(std::make_shared<SecondHandler>()));
    processor = multi;
  }
  exit_with_stdin();
  auto protocol = protocol_factory(options);
  if (options.transport == "nonblocking") {
    auto socket =
        options.is_unix()
            ? std::make_shared<TNonblockingServerSocket>(options.path())
            : std::make_shared<TNonblockingServerSocket>(options.host(), options.port());
    auto threads = concurrency::ThreadManager::newSimpleThreadManager(4);
    threads->threadFactory(std::make_shared<concurrency::ThreadFactory>());
    threads->start();
    TNonblockingServer server(processor, protocol, socket, threads);
    server.setServerEventHandler(
        std::make_shared<Ready>([socket] { return socket->getListenPort(); }, options));
    server.serve();
    return;
  }
  auto socket = options.is_unix()
                    ? std::make_shared<TServerSocket>(options.path())
                    : std::make_shared<TServerSocket>(options.host(), options.port());
  auto transport = transport_factory(options);
  // Without a factory for the output the server uses the input protocol for both, which the header
  // transport needs.
  auto output = options.is_header() ? nullptr : protocol;
  TThreadedServer server(processor, socket, transport, transport, protocol, output);
  server.setServerEventHandler(
      std::make_shared<Ready>([socket] { return socket->getPort(); }, options));
  server.serve();
}

}  // namespace

std::shared_ptr<TProtocolFactory> protocol_factory(const Options& options) {
  if (options.is_header()) {
    if (options.protocol != "binary" && options.protocol != "compact") {
      fail("header carries binary or compact, not " + options.protocol);
    }
    return std::make_shared<THeaderProtocolFactory>();
  }
  if (options.protocol == "binary") {
    return std::make_shared<TBinaryProtocolFactory>(0, 0, true, true);
  }
  if (options.protocol == "binary-nonstrict") {
    return std::make_shared<TBinaryProtocolFactory>(0, 0, false, false);
  }
  if (options.protocol == "compact") return std::make_shared<TCompactProtocolFactory>();
  if (options.protocol == "json") return std::make_shared<TJSONProtocolFactory>();
  fail("no such protocol: " + options.protocol);
}

std::shared_ptr<TProtocol> Connector::protocol() {
  auto socket = options.is_unix() ? std::make_shared<TSocket>(options.path())
                                  : std::make_shared<TSocket>(options.host(), options.port());
  socket->setConnTimeout(kTimeout);
  socket->setRecvTimeout(kTimeout);
  socket->setSendTimeout(kTimeout);
  socket->open();
  open_.push_back(socket);
  std::shared_ptr<TTransport> transport = std::make_shared<TBufferedTransport>(socket);
  if (options.is_header()) {
    auto protocol = std::make_shared<THeaderProtocol>(
        transport, options.protocol == "compact" ? T_COMPACT_PROTOCOL : T_BINARY_PROTOCOL);
    if (options.transport == "header-zlib") {
      std::dynamic_pointer_cast<THeaderTransport>(protocol->getTransport())
          ->setTransform(THeaderTransport::ZLIB_TRANSFORM);
    }
    return protocol;
  }
  if (options.transport == "http") {
    transport = std::make_shared<THttpClient>(socket, options.host(), "/");
  } else if (options.transport != "buffered") {
    transport = transport_factory(options)->getTransport(socket);
  }
  return protocol_factory(options)->getProtocol(transport);
}

std::shared_ptr<TProtocol> Connector::named(std::shared_ptr<TProtocol> protocol,
                                            const std::string& service) {
  if (!options.multiplexed) return protocol;
  return std::make_shared<TMultiplexedProtocol>(protocol, service);
}

void Connector::close_all() {
  for (auto& transport : open_) transport->close();
  open_.clear();
}

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  if (argc < 2) fail("usage: cpp-peer server|client|capabilities|golden ...");
  const std::string command = argv[1];
  if (command == "golden" && argc == 3) {
    golden(argv[2]);
    return 0;
  }
  Options options;
  for (int place = 2; place < argc; ++place) {
    const std::string flag = argv[place];
    if (flag == "--multiplexed") {
      options.multiplexed = true;
      continue;
    }
    if (++place == argc) fail(flag + " needs a value");
    if (flag == "--protocol") {
      options.protocol = argv[place];
    } else if (flag == "--transport") {
      options.transport = argv[place];
    } else if (flag == "--address") {
      options.address = argv[place];
    } else if (flag == "--case") {
      options.only = argv[place];
    } else {
      fail("no such flag: " + flag);
    }
  }
  if (command == "capabilities") {
    capabilities();
  } else if (command == "server") {
    serve(options);
  } else if (command == "client") {
    return run_client(options);
  } else {
    fail("no such command: " + command);
  }
  return 0;
}
