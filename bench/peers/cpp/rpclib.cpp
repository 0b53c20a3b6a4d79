// rpclib: MessagePack over TCP. It leaves Nagle's algorithm on, and gives no access to its sockets to turn it off.
#include <rpc/client.h>
#include <rpc/msgpack.hpp>
#include <rpc/server.h>

#define RECORD_FIELDS MSGPACK_DEFINE_ARRAY
#include "task.h"

namespace peer {

// As many as callers in the largest of the blocking workloads, so that one that waits holds up nobody.
constexpr int kWorkers = 64;

Address serve(const Address& address) {
  static rpc::server server(address.host, address.port);
  static Handler<Plain> handler;
  server.bind("get_answer", [](int32_t question) { return handler.get_answer(question); });
  server.bind("get_blob", [](int32_t size) {
    std::string result;
    handler.get_blob(result, size);
    return result;
  });
  server.bind("get_structs", [] {
    std::vector<Student> result;
    handler.get_structs(result);
    return result;
  });
  server.bind("echo_samples", [](const std::vector<Sample>& samples) {
    std::vector<Sample> result;
    handler.echo_samples(result, samples);
    return result;
  });
  server.bind("db_work", [](int32_t rows, int32_t wait_ms) {
    std::vector<Row> result;
    handler.db_work(result, rows, wait_ms);
    return result;
  });
  server.bind("process", [](const Message& message) {
    Message result;
    handler.process(result, message);
    return result;
  });
  server.async_run(kWorkers);
  return {address.host, server.port()};
}

class Client final : public Service {
 public:
  explicit Client(const Address& address) : client(address.host, address.port) {}

  int32_t get_answer(int32_t question) override { return client.call("get_answer", question).as<int32_t>(); }
  void get_blob(std::string& result, int32_t size) override { call(result, "get_blob", size); }
  void get_structs(std::vector<Student>& result) override { call(result, "get_structs"); }
  void echo_samples(std::vector<Sample>& result, const std::vector<Sample>& samples) override {
    call(result, "echo_samples", samples);
  }
  void db_work(std::vector<Row>& result, int32_t rows, int32_t wait_ms) override {
    call(result, "db_work", rows, wait_ms);
  }
  void process(Message& result, const Message& message) override { call(result, "process", message); }

 private:
  template <class Result, class... Arguments>
  void call(Result& result, const char* method, const Arguments&... arguments) {
    result = client.call(method, arguments...).template as<Result>();
  }

  rpc::client client;
};

Connection connect(const Address& address) {
  return [address](const Work& work) { return make_task<Plain>(std::make_shared<Client>(address), work); };
}

}  // namespace peer

int main(int argc, char** argv) {
  return peer::run(argc, argv, RPCLIB_VERSION,
                   {{"rpclib",
                     "a server with " + std::to_string(peer::kWorkers) +
                         " worker threads, a client for each caller; Nagle's algorithm stays on, since the library "
                         "cannot turn it off",
                     false, peer::serve, peer::connect}});
}
