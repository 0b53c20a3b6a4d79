package dev.dovetail.bench;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/** Makes its calls one after the other. */
final class Caller {
  /** All of them, in nanoseconds: percentiles are exact. */
  long[] latencies;

  long start;
  long end;
  private final String workload;
  private final Task<?> task;

  Caller(Work work, GrpcClient connection, int calls) {
    workload = work.workload();
    task = Task.of(work, connection);
    latencies = new long[calls];
  }

  void warmUp(int calls, long limit) throws Exception {
    long start = System.nanoTime();
    task.call();
    check();
    for (int i = 1; i < calls && System.nanoTime() - start < limit; i++) {
      task.call();
    }
  }

  void check() {
    String difference = task.difference();
    if (difference != null) {
      throw new IllegalStateException(workload + " returned " + difference);
    }
  }

  /** Makes one call after the other, until the limit. */
  void closedLoop(long limit) throws Exception {
    start = System.nanoTime();
    end = start;
    int made = 0;
    while (made < latencies.length && (made == 0 || end - start < limit)) {
      long begun = System.nanoTime();
      task.call();
      end = System.nanoTime();
      latencies[made++] = end - begun;
    }
    latencies = Arrays.copyOf(latencies, made);
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
