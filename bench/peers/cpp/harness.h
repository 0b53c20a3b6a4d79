// What every program has in common: its options, its modes, the callers, and the figures they print.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace peer {

// An IPv4 address and a port, or the path of a Unix socket in the place of a host.
struct Address {
  std::string host;
  uint16_t port;

  bool is_path() const { return host.starts_with('/'); }
};

// What `--workload` and `--case` ask for: `size` counts bytes or rows.
struct Work {
  std::string workload;
  int32_t size = 0;
  int32_t wait_ms = 0;
};

// What one caller does.
struct Task {
  std::function<void()> call;               // Makes a call, and keeps its result.
  std::function<std::string()> difference;  // What is wrong with the last result; empty when it is right.
};

// Makes the task of a caller of this connection, on that caller's thread.
using Connection = std::function<Task(const Work&)>;

// One configuration of a library.
struct System {
  std::string name;
  std::string configuration;
  bool shares_connections;
  std::function<Address(const Address&)> serve;  // Starts a server in the background; says where it listens.
  std::function<Connection(const Address&)> connect;
};

// The main function of a program.
int run(int argc, char** argv, const std::string& version, const std::vector<System>& systems);

// Runs on a thread of its own; an exception ends the program.
void in_background(std::function<void()> body);

}  // namespace peer
