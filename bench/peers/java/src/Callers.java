package dev.dovetail.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

/** The callers, each on its thread. They wait for each other, so that nothing but the calls is measured. */
final class Callers {
  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final Load load;
  private final Caller[] callers;
  private final Thread[] threads;
  private final CountDownLatch ready;
  private final CountDownLatch go = new CountDownLatch(1);
  private final CountDownLatch done;
  private final CountDownLatch measured = new CountDownLatch(1);
  private long start;

  Callers(Load load, List<GrpcClient> connections) {
    this.load = load;
    ready = new CountDownLatch(load.clients());
    done = new CountDownLatch(load.clients());
    callers =
        IntStream.range(0, load.clients())
            .mapToObj(i -> new Caller(load.work(), connections.get(i % connections.size()), load.share(i)))
            .toArray(Caller[]::new);
    threads =
        IntStream.range(0, load.clients())
            .mapToObj(i -> new Thread(() -> guarded(i)))
            .toArray(Thread[]::new);
  }

  void warmUp() throws InterruptedException {
    for (Thread thread : threads) {
      thread.start();
    }
    ready.await();
  }

  /** Returns the figures as JSON. */
  String measure() throws Exception {
    Switches switchesBefore = Switches.now();
    long cpuBefore = PROCESS.getProcessCpuTime();
    start = System.nanoTime();
    go.countDown();
    done.await();
    long cpu = PROCESS.getProcessCpuTime() - cpuBefore;
    Switches switches = Switches.now().since(switchesBefore);
    measured.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    return String.format(
        "{\"calls\": %d, \"elapsed_ns\": %d, \"cpu_ns\": %d, \"voluntary_switches\": %d, "
            + "\"involuntary_switches\": %d, \"peak_rss_kb\": %d, \"latency\": %s}",
        calls(), elapsed(), cpu, switches.voluntary(), switches.involuntary(), Switches.peakRssKb(), latency());
  }

  private void guarded(int index) {
    try {
      run(index, callers[index]);
    } catch (Throwable error) {
      Bench.fail(error);
    }
  }

  private void run(int index, Caller caller) throws Exception {
    caller.warmUp(Math.max(load.warmup(), load.work().callsToCompile() / load.clients()), load.limit());
    ready.countDown();
    go.await();
    if (load.rate() == Load.CLOSED) {
      caller.closedLoop(load.limit());
    } else {
      caller.openLoop(start + load.gap(index), load.gap(load.clients()));
    }
    done.countDown();
    measured.await();
    caller.check();
  }

  private int calls() {
    return Arrays.stream(callers).mapToInt(caller -> caller.latencies.length).sum();
  }

  private long elapsed() {
    List<Caller> busy = Arrays.stream(callers).filter(caller -> caller.latencies.length > 0).toList();
    // What System.nanoTime returns may overflow; differences of it do not.
    long first = busy.stream().mapToLong(caller -> caller.start - start).min().orElseThrow();
    long last = busy.stream().mapToLong(caller -> caller.end - start).max().orElseThrow();
    return last - first;
  }

  private String latency() {
    long[] sorted = Arrays.stream(callers).flatMapToLong(caller -> Arrays.stream(caller.latencies)).sorted().toArray();
    double mean = Arrays.stream(sorted).average().orElseThrow();
    double variance =
        Arrays.stream(sorted).mapToDouble(value -> (value - mean) * (value - mean)).average().orElseThrow();
    return String.format(
        Locale.ROOT,
        "{\"count\": %d, \"mean_ns\": %.1f, \"sd_ns\": %.1f, \"min_ns\": %d, \"p50_ns\": %d, \"p90_ns\": %d, "
            + "\"p99_ns\": %d, \"p999_ns\": %d, \"max_ns\": %d}",
        sorted.length, mean, Math.sqrt(variance), sorted[0], percentile(sorted, 0.5), percentile(sorted, 0.9),
        percentile(sorted, 0.99), percentile(sorted, 0.999), sorted[sorted.length - 1]);
  }

  private static long percentile(long[] sorted, double share) {
    return sorted[(int) Math.ceil(share * sorted.length) - 1];
  }
}
