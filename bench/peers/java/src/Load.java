package dev.dovetail.bench;

/**
 * What a client is to do; the rate is in calls per second, and after the limit, in nanoseconds, no caller begins another
 * call.
 */
record Load(Work work, int clients, int connections, int calls, int warmup, double rate, long limit) {
  /** Longer than any run. */
  static final long UNLIMITED = Long.MAX_VALUE;

  /** The rate where each call follows the one before. */
  static final double CLOSED = 0;

  /** How many of the calls one of the clients makes. */
  int share(int client) {
    return calls / clients + (client < calls % clients ? 1 : 0);
  }

  /** The nanoseconds in which so many calls are due. */
  long gap(int calls) {
    return (long) (calls / rate * 1e9);
  }
}
