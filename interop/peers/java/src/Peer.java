import interop.Interop;
import interop.Second;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.apache.thrift.TMultiplexedProcessor;
import org.apache.thrift.TProcessor;
import org.apache.thrift.server.ServerContext;
import org.apache.thrift.server.TServer;
import org.apache.thrift.server.TServerEventHandler;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.server.TThreadedSelectorServer;
import org.apache.thrift.transport.TNonblockingServerSocket;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.protocol.TProtocol;

/** The Java peer: Apache Thrift's own library, spoken to through the common command line. */
public final class Peer {
  private Peer() {}

  public static void main(String[] args) throws Exception {
    String command = args.length == 0 ? "" : args[0];
    try {
      switch (command) {
        case "capabilities":
          capabilities();
          break;
        case "golden":
          Golden.capture(args[1]);
          break;
        case "server":
          serve(Options.parse(args));
          break;
        case "client":
          System.exit(runClient(Options.parse(args)));
          break;
        default:
          throw new IllegalArgumentException("usage: java-peer server|client|capabilities|golden");
      }
    } catch (IllegalArgumentException error) {
      System.err.println(error.getMessage());
      System.exit(2);
    }
  }

  private static void capabilities() {
    StringBuilder out = new StringBuilder();
    String both = "\"client\", \"server\"";
    List<String> all = List.of("binary", "binary-nonstrict", "compact", "json");
    add(out, all, "buffered", both, "");
    add(out, all, "framed", both, "");
    add(out, all, "zlib", both, "");
    add(out, all, "nonblocking", "\"server\"", ", \"wire\": \"framed\"");
    String servlet = "the server is a servlet and would bring a servlet container with it";
    add(out, all, "http", "\"client\"", ", \"reason\": \"" + servlet + "\"");
    add(out, List.of("binary", "compact"), "header", "",
        ", \"reason\": \"libthrift has no THeaderTransport\"");
    System.out.println(out.append("\n]"));
  }

  private static void add(
      StringBuilder out, List<String> protocols, String transport, String roles, String more) {
    for (String protocol : protocols) {
      for (boolean multiplexed : new boolean[] {false, true}) {
        out.append(out.length() == 0 ? "[" : ",")
            .append(
                String.format(
                    "%n {\"protocol\": \"%s\", \"transport\": \"%s\", \"multiplexed\": %s,"
                        + " \"roles\": [%s], \"unix\": false%s}",
                    protocol, transport, multiplexed, roles, more));
      }
    }
  }

  private static void exitWithStdin() {
    Thread thread =
        new Thread(
            () -> {
              try {
                byte[] buffer = new byte[4096];
                while (System.in.read(buffer) >= 0) {}
              } catch (IOException error) {
                // As good as closed.
              }
              Runtime.getRuntime().halt(0);
            });
    thread.setDaemon(true);
    thread.start();
  }

  private static void serve(Options options) throws Exception {
    TProcessor processor = new Interop.Processor<>(new Handler());
    if (options.multiplexed) {
      TMultiplexedProcessor multi = new TMultiplexedProcessor();
      multi.registerProcessor("Interop", processor);
      multi.registerProcessor("Second", new Second.Processor<>(new Handler.OfSecond()));
      processor = multi;
    }
    exitWithStdin();
    InetSocketAddress address = new InetSocketAddress(options.host(), options.port());
    TServer server;
    if (options.transport.equals("nonblocking")) {
      TNonblockingServerSocket socket = new TNonblockingServerSocket(address);
      server =
          new TThreadedSelectorServer(
              new TThreadedSelectorServer.Args(socket)
                  .processor(processor)
                  .protocolFactory(options.protocolFactory()));
      server.setServerEventHandler(new Ready(() -> options.host() + ":" + socket.getPort()));
    } else {
      TServerSocket socket = new TServerSocket(address);
      server =
          new TThreadPoolServer(
              new TThreadPoolServer.Args(socket)
                  .processor(processor)
                  .transportFactory(options.transportFactory())
                  .protocolFactory(options.protocolFactory()));
      int port = socket.getServerSocket().getLocalPort();
      server.setServerEventHandler(new Ready(() -> options.host() + ":" + port));
    }
    server.serve();
  }

  /** Says the address as soon as the server listens. */
  private record Ready(java.util.function.Supplier<String> address) implements TServerEventHandler {
    @Override
    public void preServe() {
      System.out.println("READY " + address.get());
      System.out.flush();
    }

    @Override
    public ServerContext createContext(TProtocol input, TProtocol output) {
      return null;
    }

    @Override
    public void deleteContext(ServerContext context, TProtocol input, TProtocol output) {}

    @Override
    public void processContext(ServerContext context, TTransport input, TTransport output) {}
  }

  private static int runClient(Options options) {
    Connector connector = new Connector(options);
    int code = 0;
    for (Map.Entry<String, Cases.Case> each : Cases.all().entrySet()) {
      if (!options.only.isEmpty() && !options.only.equals(each.getKey())) {
        continue;
      }
      String result = "ok";
      String detail;
      try {
        detail = each.getValue().run(connector);
      } catch (Cases.Skip skip) {
        result = "skip";
        detail = skip.getMessage();
      } catch (Exception | Error error) {
        result = "fail";
        detail = error.toString();
        code = 1;
      }
      connector.closeAll();
      System.out.printf(
          "{\"case\": \"%s\", \"result\": \"%s\", \"detail\": %s}%n",
          each.getKey(), result, json(detail));
    }
    return code;
  }

  private static String json(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char each : text.substring(0, Math.min(300, text.length())).toCharArray()) {
      if (each == '"' || each == '\\') {
        out.append('\\').append(each);
      } else if (each < 0x20 || each >= 0x7f) {
        out.append(String.format("\\u%04x", (int) each));
      } else {
        out.append(each);
      }
    }
    return out.append('"').toString();
  }
}
