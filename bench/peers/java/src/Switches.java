package dev.dovetail.bench;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** What the kernel counts of this process, and the standard library does not tell. */
record Switches(long voluntary, long involuntary) {
  /** Those of all threads that are alive. */
  static Switches now() throws IOException {
    Switches sum = new Switches(0, 0);
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path thread : threads) {
        sum = sum.plus(of(thread.resolve("status")));
      }
    }
    return sum;
  }

  Switches since(Switches before) {
    return new Switches(voluntary - before.voluntary, involuntary - before.involuntary);
  }

  static long peakRssKb() throws IOException {
    return field(Files.readAllLines(Path.of("/proc/self/status")), "VmHWM:");
  }

  private Switches plus(Switches other) {
    return new Switches(voluntary + other.voluntary, involuntary + other.involuntary);
  }

  private static Switches of(Path status) throws IOException {
    try {
      List<String> lines = Files.readAllLines(status);
      return new Switches(field(lines, "voluntary_ctxt_switches:"), field(lines, "nonvoluntary_ctxt_switches:"));
    } catch (NoSuchFileException ended) {
      return new Switches(0, 0);
    }
  }

  private static long field(List<String> lines, String name) {
    String line = lines.stream().filter(each -> each.startsWith(name)).findFirst().orElseThrow();
    return Long.parseLong(line.replaceAll("[^0-9]", ""));
  }
}
