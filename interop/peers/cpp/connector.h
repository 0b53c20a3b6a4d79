// Opens connections as the command line says; cases ask it for clients.
#pragma once

#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TTransport.h>

#include <memory>
#include <string>
#include <vector>

#include "Future.h"
#include "Interop.h"
#include "Second.h"

struct Options {
  std::string protocol = "binary";
  std::string transport = "buffered";
  std::string address = "127.0.0.1:0";
  std::string only;
  bool multiplexed = false;

  bool is_header() const { return transport.rfind("header", 0) == 0; }
  bool is_unix() const { return address.rfind("unix:", 0) == 0; }
  std::string path() const { return address.substr(5); }
  std::string host() const { return address.substr(0, address.rfind(':')); }
  int port() const { return std::stoi(address.substr(address.rfind(':') + 1)); }
};

using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolFactory;

std::shared_ptr<TProtocolFactory> protocol_factory(const Options& options);

class Connector {
 public:
  explicit Connector(const Options& options) : options(options) {}

  std::shared_ptr<TProtocol> protocol();
  std::shared_ptr<TProtocol> named(std::shared_ptr<TProtocol> protocol, const std::string& service);

  template <typename Client>
  std::shared_ptr<Client> client(const std::string& service = "Interop") {
    return std::make_shared<Client>(named(protocol(), service));
  }

  void close_all();

  const Options& options;

 private:
  std::vector<std::shared_ptr<apache::thrift::transport::TTransport>> open_;
};

/// A case that does not exist here.
struct Skip {
  std::string reason;
};

int run_client(const Options& options);
void golden(const std::string& directory);
std::string json_string(const std::string& text);
