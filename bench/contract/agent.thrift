/**
 * What the coordinator of the benchmarks asks of another host: `bench/README.md`, "Separate machines".
 * Every call carries the token of both in its header `token`.
 */
namespace rs agent

/** What a program says of one of its systems. */
struct System {
  1: string version
  2: string configuration
}

struct Host {
  /** By name: those that can be started. */
  1: map<string, System> systems
  /** By name: those that cannot, and why. */
  2: map<string, string> missing
  /** The processor, the kernel and so on. */
  3: map<string, string> machine
}

/** What a client is to do, in the words of its options. */
struct Load {
  1: string workload
  2: string variant
  3: i32 clients
  4: i32 connections
  5: i32 calls
  6: i32 warmup
  /** Calls a second; without it each call follows the one before. */
  7: optional double rate
  /** Each call goes to all of these. None: client and server are one process. */
  8: list<string> servers
  /** Milliseconds after which no caller begins another call. */
  9: optional i32 limit_ms
}

struct Server {
  1: i64 process
  /** Where clients reach it. */
  2: string address
}

/** What a process has used so far. */
struct Usage {
  1: i64 cpu_ns
  /** Context switches of the threads that there are. */
  2: i64 switches
  3: i64 peak_kb
}

/** A program that went wrong, in its own words where it had any. */
exception Failed {
  1: string why
}

service Agent {
  Host describe()

  /** Starts a server on an address of this host; it is killed after so many milliseconds. */
  Server start_server(1: string system, 2: i32 limit_ms) throws (1: Failed failed)

  /** Starts a client and lets it warm up; it is killed after so many milliseconds. */
  i64 start_client(1: string system, 2: Load load, 3: i32 limit_ms) throws (1: Failed failed)

  /** Lets a client measure. */
  void go(1: i64 process) throws (1: Failed failed)

  /** Waits for the figures of a client: the line of JSON that it prints. */
  string figures(1: i64 process) throws (1: Failed failed)

  Usage usage(1: i64 process) throws (1: Failed failed)

  /** Kills a process; returns the context switches of all threads that it ever had. */
  i64 stop(1: i64 process) throws (1: Failed failed)
}
