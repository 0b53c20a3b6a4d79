package dev.dovetail.bench;

import java.util.concurrent.locks.LockSupport;

/** Makes its calls one after the other. */
final class Caller {
  /** All of them, in nanoseconds: percentiles are exact. */
  final long[] latencies;

  long start;
  long end;
  private final String workload;
  private final Task<?> task;

  Caller(Work work, GrpcClient connection, int calls) {
    workload = work.workload();
    task = Task.of(work, connection);
    latencies = new long[calls];
  }

  void warmUp(int calls) throws Exception {
    task.call();
    check();
    for (int i = 1; i < calls; i++) {
      task.call();
    }
  }

  void check() {
    String difference = task.difference();
    if (difference != null) {
      throw new IllegalStateException(workload + " returned " + difference);
    }
  }

  void closedLoop() throws Exception {
    start = System.nanoTime();
    for (int i = 0; i < latencies.length; i++) {
      long start = System.nanoTime();
      task.call();
      latencies[i] = System.nanoTime() - start;
    }
    end = System.nanoTime();
  }

  /**
   * Makes each call at its time, or as soon as the one before has returned; its latency counts from that time.
   */
  void openLoop(long due, long period) throws Exception {
    start = due;
    for (int i = 0; i < latencies.length; i++) {
      sleepUntil(due);
      task.call();
      latencies[i] = System.nanoTime() - due;
      due += period;
    }
    end = System.nanoTime();
  }

  private static void sleepUntil(long due) {
    for (long wait; (wait = due - System.nanoTime()) > 0; ) {
      LockSupport.parkNanos(wait);
    }
  }
}
