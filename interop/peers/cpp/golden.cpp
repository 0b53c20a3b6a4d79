// Captures golden bytes: reads what Python wrote in binary and writes it again with this library.

#include <thrift/TApplicationException.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/THeaderTransport.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "connector.h"

using namespace apache::thrift::protocol;
using namespace apache::thrift::transport;
using namespace interop;

namespace {

namespace fs = std::filesystem;

/// Reads a value with one protocol and writes it with another.
using Copy = std::function<void(TProtocol&, TProtocol&)>;

template <typename Value>
void copy(TProtocol& in, TProtocol& out) {
  Value value;
  value.read(&in);
  value.write(&out);
}

struct Entry {
  std::string name;
  Copy copy;
  bool message = false;
};

// The generator gives the arguments and results of methods; what Python wrote says which.
const std::vector<std::pair<std::string, Copy>> kMessages{
    {"call_ping", copy<Base_ping_args>},
    {"call_echo_i32", copy<Interop_echo_i32_args>},
    {"call_seqid_max", copy<Interop_echo_i32_args>},
    {"call_seqid_negative", copy<Interop_echo_i32_args>},
    {"call_multiplexed", copy<Interop_echo_string_args>},
    {"call_join", copy<Interop_join_args>},
    {"oneway_notify", copy<Interop_notify_args>},
    {"reply_void", copy<Base_ping_result>},
    {"reply_bool", copy<Interop_echo_bool_result>},
    {"reply_i32", copy<Interop_echo_i32_result>},
    {"reply_declared", copy<Interop_may_fail_result>},
    {"reply_declared_second", copy<Interop_may_fail_result>},
    {"exception_unknown_method", copy<apache::thrift::TApplicationException>},
    {"exception_internal", copy<apache::thrift::TApplicationException>},
};

const std::vector<std::pair<std::string, Copy>> kStructs{
    {"empty", copy<Empty>},         {"everything", copy<Everything>},
    {"presence", copy<Presence>},   {"containers", copy<Containers>},
    {"nested", copy<Nested>},       {"keyed", copy<Keyed>},
    {"tree", copy<Tree>},           {"choice", copy<Choice>},
    {"newer", copy<Newer>},
};

/// Which type a value has: its name begins with that of the type, and all others are a Wide.
Entry entry(const std::string& name) {
  for (const auto& [message, copier] : kMessages) {
    if (name == message) return {name, copier, true};
  }
  for (const auto& [prefix, copier] : kStructs) {
    if (name.rfind(prefix, 0) == 0) return {name, copier, false};
  }
  return {name, copy<Wide>, false};
}

std::string file(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    out += two;
  }
  return out + "\n";
}

std::string unhex(const std::string& text) {
  std::string out;
  for (size_t place = 0; place + 1 < text.size(); place += 2) {
    out += static_cast<char>(std::stoi(text.substr(place, 2), nullptr, 16));
  }
  return out;
}

std::shared_ptr<TProtocol> writer(const std::string& name, std::shared_ptr<TTransport> memory) {
  Options options;
  options.protocol = name;
  const size_t dash = name.find('-');
  if (dash != std::string::npos && name != "binary-nonstrict") {
    options.protocol = name.substr(0, dash);
    options.transport = name.substr(dash + 1);
  }
  if (options.is_header()) {
    auto protocol = std::make_shared<THeaderProtocol>(
        memory, options.protocol == "compact" ? T_COMPACT_PROTOCOL : T_BINARY_PROTOCOL);
    if (options.transport == "header-zlib") {
      std::dynamic_pointer_cast<THeaderTransport>(protocol->getTransport())
          ->setTransform(THeaderTransport::ZLIB_TRANSFORM);
    }
    return protocol;
  }
  if (options.transport == "framed") memory = std::make_shared<TFramedTransport>(memory);
  return protocol_factory(options)->getProtocol(memory);
}

}  // namespace

void golden(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(directory + "/python/binary")) {
    names.push_back(each.path().stem());
  }
  for (const char* protocol :
       {"binary", "binary-nonstrict", "compact", "json", "binary-framed", "compact-framed",
        "json-framed", "binary-header", "compact-header", "binary-header-zlib",
        "compact-header-zlib"}) {
    for (const auto& name : names) {
      const Entry each = entry(name);
      const fs::path place = fs::path(protocol) / (name + ".hex");
      const fs::path known = fs::path(directory) / "python" / place;
      if (!fs::exists(known)) continue;
      auto input = std::make_shared<TMemoryBuffer>();
      const std::string bytes = unhex(file(fs::path(directory) / "python/binary" / (name + ".hex")));
      input->write(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      TBinaryProtocol reader(input);
      auto memory = std::make_shared<TMemoryBuffer>();
      auto out = writer(protocol, memory);
      std::string method;
      TMessageType kind;
      int32_t seqid;
      if (each.message) {
        reader.readMessageBegin(method, kind, seqid);
        out->writeMessageBegin(method, kind, seqid);
      }
      each.copy(reader, *out);
      if (each.message) out->writeMessageEnd();
      out->getTransport()->writeEnd();
      out->getTransport()->flush();
      const std::string line = hex(memory->getBufferAsString());
      if (line == file(known)) continue;
      fs::create_directories((fs::path(directory) / "cpp" / place).parent_path());
      std::ofstream(fs::path(directory) / "cpp" / place) << line;
    }
  }
}
