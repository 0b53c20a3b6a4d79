#include "harness.h"
#include <arpa/inet.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <latch>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace peer {
namespace {

using Clock = std::chrono::steady_clock;

struct Misuse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Ends the program at once: a library's threads may still be at work.
[[noreturn]] void finish(int code) {
  std::cout.flush();
  std::_Exit(code);
}

[[noreturn]] void fail(int code, const std::string& message) {
  std::cerr << message.substr(0, message.find('\n')) + "\n";
  finish(code);
}

void guarded(const std::function<void()>& body) {
  try {
    body();
  } catch (const Misuse& misuse) {
    fail(2, misuse.what());
  } catch (const std::exception& error) {
    fail(1, error.what());
  }
}

template <class Number>
Number number(const std::string& text, const std::string& what, Number least) {
  Number value{};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= least)) throw Misuse(what + " cannot be `" + text + "`");
  return value;
}

class Options {
 public:
  Options(int argc, char** argv) {
    static const std::set<std::string> known = {"--mode",    "--system",      "--address", "--workload", "--case",
                                                "--clients", "--connections", "--calls",   "--warmup",   "--rate",
                                                "--limit-ms"};
    for (int i = 1; i < argc; i++) {
      std::string name = argv[i];
      if (name == "--describe") {
        describe = true;
        continue;
      }
      if (!known.contains(name)) throw Misuse("unknown option `" + name + "`");
      if (++i == argc) throw Misuse(name + " needs a value");
      values[name] = argv[i];
    }
  }

  std::optional<std::string> maybe(const std::string& name) const {
    auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }

  std::string text(const std::string& name) const {
    if (auto value = maybe(name)) return *value;
    throw Misuse(name + " is missing");
  }

  int64_t count(const std::string& name, int64_t least) const { return number(text(name), name, least); }

  bool describe = false;

 private:
  std::map<std::string, std::string> values;
};

const std::string kUnix = "unix:";

Address parse_address(const std::string& text) {
  if (text.starts_with(kUnix + "/")) return {text.substr(kUnix.size()), 0};
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw Misuse("--address is HOST:PORT or unix:/PATH, not `" + text + "`");
  std::string host = text.substr(0, colon);
  in_addr parsed;
  if (inet_pton(AF_INET, host.c_str(), &parsed) != 1) throw Misuse("--address needs an IPv4 address, not `" + host + "`");
  return {host, number<uint16_t>(text.substr(colon + 1), "the port of --address", 0)};
}

std::string format_address(const Address& address) {
  return address.is_path() ? kUnix + address.host : address.host + ":" + std::to_string(address.port);
}

Work parse_work(const std::string& workload, const std::string& text) {
  static const std::map<std::string, Work> fixed = {
      {"get_answer -", {"get_answer"}},         {"get_structs -", {"get_structs"}},
      {"blob_100k -", {"blob_100k", 100000}},   {"structs_100k -", {"structs_100k"}},
      {"db_work 10", {"db_work", 10, 0}},       {"db_work 10+1ms", {"db_work", 10, 1}},
      {"agent_small -", {"agent_small", 16}},   {"agent_large -", {"agent_large", 1100}},
  };
  if (workload == "get_blob") return {workload, number<int32_t>(text, "--case", 0)};
  auto found = fixed.find(workload + " " + text);
  if (found == fixed.end()) throw Misuse("no workload `" + workload + "` with the case `" + text + "`");
  return found->second;
}

struct Load {
  Work work;
  int64_t clients;
  int64_t connections;
  int64_t calls;
  int64_t warmup;
  std::optional<double> rate;
  Clock::duration limit;  // After it no caller begins another call.
};

Load parse_load(const Options& options, const System& system) {
  Load load{parse_work(options.text("--workload"), options.text("--case")),
            options.count("--clients", 1),
            options.count("--connections", 1),
            options.count("--calls", 1),
            options.count("--warmup", 0),
            std::nullopt,
            Clock::duration::max()};
  if (auto rate = options.maybe("--rate")) {
    load.rate = number(*rate, "--rate", std::numeric_limits<double>::min());
  }
  if (auto limit = options.maybe("--limit-ms")) {
    if (load.rate) throw Misuse("--limit-ms does not go with --rate");
    load.limit = std::chrono::milliseconds(number(*limit, "--limit-ms", int64_t{0}));
  }
  if (load.connections > load.clients) throw Misuse("--connections cannot be more than --clients");
  if (load.connections < load.clients && !system.shares_connections) {
    throw Misuse(system.name + " cannot share a connection between callers: --connections must equal --clients");
  }
  return load;
}

struct Usage {
  int64_t cpu_ns;
  int64_t voluntary;
  int64_t involuntary;
  int64_t peak_rss_kb;

  static Usage now() {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    auto ns = [](timeval time) { return time.tv_sec * int64_t{1000000000} + time.tv_usec * int64_t{1000}; };
    return {ns(used.ru_utime) + ns(used.ru_stime), used.ru_nvcsw, used.ru_nivcsw, peak()};
  }

 private:
  // Not of getrusage, which counts what the process was before it became this program.
  static int64_t peak() {
    std::ifstream status("/proc/self/status");
    int64_t kb = 0;
    for (std::string word; status >> word;) {
      if (word == "VmHWM:") status >> kb;
    }
    return kb;
  }
};

struct Caller {
  std::vector<int64_t> latencies;  // All of them, in nanoseconds: percentiles are exact.
  Clock::time_point start;
  Clock::time_point end;
};

void check(const Task& task, const Work& work) {
  std::string difference = task.difference();
  if (!difference.empty()) throw std::runtime_error(work.workload + " returned " + difference);
}

int64_t ns(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }

// One call after the other, until the limit.
void closed_loop(Caller& caller, const Task& task, Clock::duration limit) {
  size_t made = 0;
  while (made < caller.latencies.size()) {
    auto start = Clock::now();
    task.call();
    auto end = Clock::now();
    caller.latencies[made++] = ns(end - start);
    if (end - caller.start >= limit) break;
  }
  caller.latencies.resize(made);
}

// Each call at its time, or as soon as the one before it has returned; its latency counts from that time.
void open_loop(Caller& caller, const Task& task, Clock::time_point first, Clock::duration period) {
  prctl(PR_SET_TIMERSLACK, 1UL);
  auto due = first;
  for (int64_t& latency : caller.latencies) {
    std::this_thread::sleep_until(due);
    task.call();
    latency = ns(Clock::now() - due);
    due += period;
  }
}

// The callers wait for each other before and after the calls, so that nothing else is measured.
class Measurement {
 public:
  explicit Measurement(const Load& load)
      : load(load), callers(load.clients), ready(load.clients), done(load.clients) {}

  void run(const std::vector<Connection>& connections) {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < load.clients; i++) {
      threads.emplace_back([&, i] { guarded([&] { caller(i, connections[i % connections.size()]); }); });
    }
    ready.wait();
    std::cout << "READY" << std::endl;
    std::string line;
    if (!std::getline(std::cin, line)) throw std::runtime_error("standard input ended before the line that starts");
    before = Usage::now();
    start = Clock::now();
    go.count_down();
    done.wait();
    after = Usage::now();
    measured.count_down();
    for (auto& thread : threads) thread.join();
  }

  void print() {
    std::vector<int64_t> all;
    for (auto& caller : callers) all.insert(all.end(), caller.latencies.begin(), caller.latencies.end());
    std::sort(all.begin(), all.end());
    std::printf("{\"calls\": %zu, \"elapsed_ns\": %lld, \"cpu_ns\": %lld, \"voluntary_switches\": %lld, "
                "\"involuntary_switches\": %lld, \"peak_rss_kb\": %lld, \"latency\": ",
                all.size(), shown(elapsed()), shown(after.cpu_ns - before.cpu_ns),
                shown(after.voluntary - before.voluntary), shown(after.involuntary - before.involuntary),
                shown(after.peak_rss_kb));
    print_latency(all);
    std::printf("}\n");
    std::fflush(stdout);
  }

 private:
  static long long shown(int64_t value) { return value; }

  void caller(int64_t index, const Connection& connection) {
    Caller& self = callers[index];
    Task task = connection(load.work);
    task.call();
    check(task, load.work);
    auto began = Clock::now();
    for (int64_t i = 1; i < load.warmup && Clock::now() - began < load.limit; i++) task.call();
    int64_t share = load.calls / load.clients + (index < load.calls % load.clients);
    self.latencies.resize(share);
    ready.count_down();
    go.wait();
    self.start = Clock::now();
    if (load.rate) {
      self.start = start + gap(index);
      open_loop(self, task, self.start, gap(load.clients));
    } else {
      closed_loop(self, task, load.limit);
    }
    self.end = Clock::now();
    done.count_down();
    measured.wait();
    check(task, load.work);
  }

  Clock::duration gap(int64_t calls) const {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(calls / *load.rate));
  }

  int64_t elapsed() const {
    auto first = Clock::time_point::max();
    auto last = Clock::time_point::min();
    for (auto& caller : callers) {
      if (caller.latencies.empty()) continue;
      first = std::min(first, caller.start);
      last = std::max(last, caller.end);
    }
    return ns(last - first);
  }

  static void print_latency(const std::vector<int64_t>& sorted) {
    double count = static_cast<double>(sorted.size());
    double sum = 0, squares = 0;
    for (int64_t value : sorted) sum += static_cast<double>(value);
    double mean = sum / count;
    for (int64_t value : sorted) squares += (value - mean) * (value - mean);
    auto percentile = [&](double share) { return shown(sorted[static_cast<size_t>(std::ceil(share * count)) - 1]); };
    std::printf("{\"count\": %zu, \"mean_ns\": %.1f, \"sd_ns\": %.1f, \"min_ns\": %lld, \"p50_ns\": %lld, "
                "\"p90_ns\": %lld, \"p99_ns\": %lld, \"p999_ns\": %lld, \"max_ns\": %lld}",
                sorted.size(), mean, std::sqrt(squares / count), shown(sorted.front()), percentile(0.5),
                percentile(0.9), percentile(0.99), percentile(0.999), shown(sorted.back()));
  }

  const Load& load;
  std::vector<Caller> callers;
  std::latch ready, go{1}, done, measured{1};
  Clock::time_point start;
  Usage before{}, after{};
};

void serve(const System& system, const Address& address) {
  Address bound = system.serve(address);
  std::cout << "READY " << format_address(bound) << std::endl;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  if (bound.is_path()) unlink(bound.host.c_str());
}

void call(const System& system, const Address& address, const Load& load) {
  std::vector<Connection> connections;
  for (int64_t i = 0; i < load.connections; i++) connections.push_back(system.connect(address));
  Measurement measurement(load);
  measurement.run(connections);
  measurement.print();
  finish(0);
}

void describe(const std::string& version, const std::vector<System>& systems) {
  const char* separator = "{\"systems\": {";
  for (auto& system : systems) {
    std::cout << separator << '"' << system.name << "\": {\"version\": \"" << version << "\", \"configuration\": \""
              << system.configuration << "\"}";
    separator = ", ";
  }
  std::cout << "}}" << std::endl;
}

const System& find(const std::vector<System>& systems, const std::string& name) {
  for (auto& system : systems) {
    if (system.name == name) return system;
  }
  throw Misuse("no system `" + name + "` in this program");
}

void dispatch(const Options& options, const std::string& version, const std::vector<System>& systems) {
  if (options.describe) return describe(version, systems);
  std::string mode = options.text("--mode");
  const System& system = find(systems, options.text("--system"));
  if (mode == "server") {
    serve(system, parse_address(options.maybe("--address").value_or("127.0.0.1:0")));
  } else if (mode == "client") {
    Load load = parse_load(options, system);
    call(system, parse_address(options.text("--address")), load);
  } else if (mode == "both") {
    Load load = parse_load(options, system);
    call(system, system.serve(parse_address(options.maybe("--address").value_or("127.0.0.1:0"))), load);
  } else {
    throw Misuse("--mode is server, client or both, not `" + mode + "`");
  }
}

}  // namespace

void in_background(std::function<void()> body) {
  std::thread([body = std::move(body)] { guarded(body); }).detach();
}

int run(int argc, char** argv, const std::string& version, const std::vector<System>& systems) {
  guarded([&] { dispatch(Options(argc, argv), version, systems); });
  finish(0);
}

}  // namespace peer
