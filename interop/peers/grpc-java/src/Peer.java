import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.util.List;
import java.util.Map;

/** The peer of gRPC's library for Java, spoken to through the common command line. */
public final class Peer {
  interface Case {
    void run(ManagedChannel channel) throws Exception;
  }

  public static void main(String[] arguments) {
    String command = arguments.length == 0 ? "" : arguments[0];
    switch (command) {
      case "capabilities" ->
          System.out.println(
              "[{\"protocol\": \"grpc\", \"transport\": \"buffered\", \"multiplexed\": false, "
                  + "\"roles\": [\"client\"], \"unix\": false, \"reason\": \"a server in Java would show nothing new\"}]");
      case "client" -> System.exit(client(List.of(arguments)));
      case "demo" -> demo(option(List.of(arguments), "--address"));
      default -> {
        System.err.println("usage: grpc-java-peer capabilities | client FLAGS | demo --address ADDRESS");
        System.exit(2);
      }
    }
  }

  private static int client(List<String> arguments) {
    String address = option(arguments, "--address");
    String only = option(arguments, "--case");
    int code = 0;
    for (Map.Entry<String, Case> each : Cases.ALL.entrySet()) {
      if (!only.isEmpty() && !only.equals(each.getKey())) {
        continue;
      }
      String result = "ok";
      String detail = "";
      ManagedChannel channel = connect(address);
      try {
        each.getValue().run(channel);
      } catch (Exception | AssertionError error) {
        result = "fail";
        detail = error.toString();
        code = 1;
      } finally {
        channel.shutdownNow();
      }
      System.out.printf(
          "{\"case\": \"%s\", \"result\": \"%s\", \"detail\": \"%s\"}%n", each.getKey(), result, escaped(detail));
    }
    return code;
  }

  private static void demo(String address) {
    ManagedChannel channel = connect(address);
    try {
      DemoCalls.print(channel);
    } finally {
      channel.shutdownNow();
    }
  }

  private static ManagedChannel connect(String address) {
    return Grpc.newChannelBuilder(address, InsecureChannelCredentials.create())
        .maxInboundMessageSize(1 << 26)
        .build();
  }

  private static String option(List<String> arguments, String name) {
    int at = arguments.indexOf(name);
    return at < 0 || at + 1 == arguments.size() ? "" : arguments.get(at + 1);
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
  }
}
