import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptors;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.testing.integration.AbstractInteropTest;
import io.grpc.testing.integration.TestServiceImpl;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/** The peer of gRPC's library for Java: gRPC's own interop cases, as it ships them, behind the common command line. */
public final class Peer {
  private static final String TLS = "tls";

  public static void main(String[] arguments) throws Exception {
    switch (arguments.length == 0 ? "" : arguments[0]) {
      case "capabilities":
        capabilities();
        break;
      case "server":
        serve(flags(arguments));
        break;
      case "client":
        System.exit(call(flags(arguments)));
        break;
      default:
        System.err.println("usage: grpc-java-testing-peer capabilities | server FLAGS | client FLAGS");
        System.exit(2);
    }
  }

  private static Map<String, String> flags(String[] arguments) {
    Map<String, String> flags = new LinkedHashMap<>();
    for (int at = 1; at + 1 < arguments.length; at += 2) {
      flags.put(arguments[at], arguments[at + 1]);
    }
    return flags;
  }

  private static void capabilities() {
    List<String> all = new ArrayList<>();
    for (String transport : List.of("buffered", TLS)) {
      all.add("{\"protocol\": \"grpc\", \"transport\": \"" + transport + "\", \"multiplexed\": false, "
          + "\"roles\": [\"client\", \"server\"], \"unix\": false}");
    }
    System.out.println(all);
  }

  /** A file of the certificates: both ends show one, and trust the same root. */
  private static File file(String name) {
    return new File(System.getenv("INTEROP_CERTIFICATES"), name);
  }

  private static void serve(Map<String, String> flags) throws Exception {
    ServerCredentials credentials = InsecureServerCredentials.create();
    if (TLS.equals(flags.get("--transport"))) {
      credentials = TlsServerCredentials.newBuilder()
          .keyManager(file("peer.pem"), file("peer.key"))
          .trustManager(file("ca.pem"))
          .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
          .build();
    }
    String address = flags.get("--address");
    int colon = address.lastIndexOf(':');
    TestServiceImpl service = new TestServiceImpl(Executors.newScheduledThreadPool(2));
    Server server = Grpc.newServerBuilderForPort(Integer.parseInt(address.substring(colon + 1)), credentials)
        .addService(ServerInterceptors.intercept(service, TestServiceImpl.interceptors()))
        .build()
        .start();
    System.out.println("READY " + address.substring(0, colon) + ":" + server.getPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  private interface Case {
    void run(Tester tester) throws Exception;
  }

  private static Map<String, Case> cases() {
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("empty_unary", AbstractInteropTest::emptyUnary);
    cases.put("large_unary", AbstractInteropTest::largeUnary);
    cases.put("client_compressed_unary", tester -> tester.clientCompressedUnary(true));
    cases.put("server_compressed_unary", AbstractInteropTest::serverCompressedUnary);
    cases.put("client_streaming", AbstractInteropTest::clientStreaming);
    cases.put("client_compressed_streaming", tester -> tester.clientCompressedStreaming(true));
    cases.put("server_streaming", AbstractInteropTest::serverStreaming);
    cases.put("server_compressed_streaming", AbstractInteropTest::serverCompressedStreaming);
    cases.put("ping_pong", AbstractInteropTest::pingPong);
    cases.put("empty_stream", AbstractInteropTest::emptyStream);
    cases.put("custom_metadata", AbstractInteropTest::customMetadata);
    cases.put("status_code_and_message", AbstractInteropTest::statusCodeAndMessage);
    cases.put("special_status_message", AbstractInteropTest::specialStatusMessage);
    cases.put("unimplemented_method", AbstractInteropTest::unimplementedMethod);
    cases.put("unimplemented_service", AbstractInteropTest::unimplementedService);
    cases.put("cancel_after_begin", AbstractInteropTest::cancelAfterBegin);
    cases.put("cancel_after_first_response", AbstractInteropTest::cancelAfterFirstResponse);
    cases.put("timeout_on_sleeping_server", AbstractInteropTest::timeoutOnSleepingServer);
    return cases;
  }

  private static int call(Map<String, String> flags) throws IOException {
    ChannelCredentials credentials = InsecureChannelCredentials.create();
    if (TLS.equals(flags.get("--transport"))) {
      credentials = TlsChannelCredentials.newBuilder()
          .keyManager(file("peer.pem"), file("peer.key"))
          .trustManager(file("ca.pem"))
          .build();
    }
    int code = 0;
    String only = flags.get("--case");
    for (Map.Entry<String, Case> each : cases().entrySet()) {
      if (only != null && !only.equals(each.getKey())) {
        continue;
      }
      String failure = run(each.getValue(), new Tester(flags.get("--address"), credentials));
      System.out.println("{\"case\": \"" + each.getKey() + "\", \"result\": \"" + (failure == null ? "ok" : "fail")
          + "\", \"detail\": \"" + (failure == null ? "" : escaped(failure)) + "\"}");
      code = failure == null ? code : 1;
    }
    return code;
  }

  /** What went wrong; nothing where all went well. */
  private static String run(Case each, Tester tester) {
    tester.setUp();
    try {
      each.run(tester);
      return null;
    } catch (Exception | AssertionError error) {
      return error.toString();
    } finally {
      tester.tearDown();
    }
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\\\").replace("\"", "'").replaceAll("\\p{Cntrl}", " ");
  }

  /** The cases, against a server that is there already. */
  private static final class Tester extends AbstractInteropTest {
    private final String address;
    private final ChannelCredentials credentials;

    Tester(String address, ChannelCredentials credentials) {
      this.address = address;
      this.credentials = credentials;
    }

    @Override
    protected ManagedChannelBuilder<?> createChannelBuilder() {
      return Grpc.newChannelBuilder(address, credentials).maxInboundMessageSize(MAX_MESSAGE_SIZE);
    }

    @Override
    protected boolean metricsExpected() {
      return false;
    }
  }
}
