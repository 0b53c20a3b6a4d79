package dev.dovetail.bench;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The command line. */
record Options(boolean describe, Map<String, String> values) {
  private static final Set<String> KNOWN =
      Set.of(
          "--mode", "--system", "--address", "--workload", "--case",
          "--clients", "--connections", "--calls", "--warmup", "--rate", "--limit-ms");

  private static final Map<String, Work> FIXED =
      Map.of(
          "get_answer -", new Work("get_answer", 0, 0),
          "get_structs -", new Work("get_structs", 0, 0),
          "blob_100k -", new Work("blob_100k", 100_000, 0),
          "structs_100k -", new Work("structs_100k", 0, 0),
          "db_work 10", new Work("db_work", 10, 0),
          "db_work 10+1ms", new Work("db_work", 10, 1),
          "agent_small -", new Work("agent_small", 16, 0),
          "agent_large -", new Work("agent_large", 1_100, 0));

  static Options parse(String[] arguments) {
    boolean describe = false;
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i < arguments.length; i++) {
      String name = arguments[i];
      if (name.equals("--describe")) {
        describe = true;
        continue;
      }
      if (!KNOWN.contains(name)) {
        throw new Bench.Misuse("unknown option `%s`", name);
      }
      if (++i == arguments.length) {
        throw new Bench.Misuse("%s needs a value", name);
      }
      values.put(name, arguments[i]);
    }
    return new Options(describe, values);
  }

  String text(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new Bench.Misuse("%s is missing", name);
    }
    return value;
  }

  Load load() {
    Load load =
        new Load(
            work(),
            count("--clients", 1),
            count("--connections", 1),
            count("--calls", 1),
            count("--warmup", 0),
            rate(),
            limit());
    if (load.connections() > load.clients()) {
      throw new Bench.Misuse("--connections cannot be more than --clients");
    }
    return load;
  }

  InetSocketAddress listenAddress() {
    return address(values.getOrDefault("--address", "127.0.0.1:0"));
  }

  InetSocketAddress serverAddress() {
    return address(text("--address"));
  }

  private Work work() {
    String workload = text("--workload");
    if (workload.equals("get_blob")) {
      return new Work(workload, count("--case", 0), 0);
    }
    Work work = FIXED.get(workload + " " + text("--case"));
    if (work == null) {
      throw new Bench.Misuse("no workload `%s` with the case `%s`", workload, text("--case"));
    }
    return work;
  }

  private int count(String name, int least) {
    return number(name, text(name), least);
  }

  private static int number(String name, String text, int least) {
    try {
      int value = Integer.parseInt(text);
      if (value >= least) {
        return value;
      }
    } catch (NumberFormatException notOne) {
      // Told below.
    }
    throw new Bench.Misuse("%s cannot be `%s`", name, text);
  }

  private double rate() {
    if (!values.containsKey("--rate")) {
      return Load.CLOSED;
    }
    try {
      double rate = Double.parseDouble(text("--rate"));
      if (rate > 0) {
        return rate;
      }
    } catch (NumberFormatException notOne) {
      // Told below.
    }
    throw new Bench.Misuse("--rate cannot be `%s`", text("--rate"));
  }

  private long limit() {
    if (!values.containsKey("--limit-ms")) {
      return Load.UNLIMITED;
    }
    if (values.containsKey("--rate")) {
      throw new Bench.Misuse("--limit-ms does not go with --rate");
    }
    return count("--limit-ms", 0) * 1_000_000L;
  }

  private static InetSocketAddress address(String text) {
    int colon = text.lastIndexOf(':');
    if (colon < 0 || !text.substring(0, colon).matches("\\d+(\\.\\d+){3}")) {
      throw new Bench.Misuse("--address is HOST:PORT with an IPv4 address, not `%s`", text);
    }
    int port = number("the port of --address", text.substring(colon + 1), 0);
    if (port > 0xffff) {
      throw new Bench.Misuse("the port of --address cannot be `%d`", port);
    }
    return new InetSocketAddress(text.substring(0, colon), port);
  }
}
