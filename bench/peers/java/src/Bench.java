package dev.dovetail.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** The Java program of the benchmark suite: gRPC. bench/README.md is the contract that it fulfils. */
public final class Bench {
  /** An error of whoever started the program. */
  static final class Misuse extends RuntimeException {
    Misuse(String format, Object... values) {
      super(String.format(format, values));
    }
  }

  private Bench() {}

  public static void main(String[] arguments) {
    try {
      run(Options.parse(arguments));
    } catch (Throwable error) {
      fail(error);
    }
    // A library's threads may still be at work.
    System.exit(0);
  }

  /** Ends the program with one line: of several callers that fail at once, with the first one's. */
  static synchronized void fail(Throwable error) {
    String text = error instanceof Misuse ? error.getMessage() : error.toString();
    System.err.println(text.lines().findFirst().orElse(""));
    Runtime.getRuntime().halt(error instanceof Misuse ? 2 : 1);
  }

  private static void run(Options options) throws Exception {
    if (options.describe()) {
      System.out.printf(
          "{\"systems\": {\"%s\": {\"version\": \"%s\", \"configuration\": \"%s\"}}}%n",
          Grpc.NAME, Grpc.version(), Grpc.configuration());
      return;
    }
    String mode = options.text("--mode");
    if (!options.text("--system").equals(Grpc.NAME)) {
      throw new Misuse("no system `%s` in this program", options.text("--system"));
    }
    switch (mode) {
      case "server" -> serve(options);
      case "client" -> call(options.serverAddress(), options.load());
      case "both" -> {
        Load load = options.load();
        call(Grpc.serve(options.listenAddress()), load);
      }
      default -> throw new Misuse("--mode is server, client or both, not `%s`", mode);
    }
  }

  private static void serve(Options options) throws IOException {
    InetSocketAddress address = Grpc.serve(options.listenAddress());
    System.out.printf("READY %s:%d%n", address.getAddress().getHostAddress(), address.getPort());
    System.in.transferTo(OutputStream.nullOutputStream());
  }

  private static void call(InetSocketAddress address, Load load) throws Exception {
    List<GrpcClient> connections = new ArrayList<>();
    for (int i = 0; i < load.connections(); i++) {
      connections.add(Grpc.connect(address));
    }
    Callers callers = new Callers(load, connections);
    callers.warmUp();
    System.out.println("READY");
    if (new BufferedReader(new InputStreamReader(System.in)).readLine() == null) {
      throw new IOException("standard input ended before the line that starts");
    }
    System.out.println(callers.measure());
  }
}
