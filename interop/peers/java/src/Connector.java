import interop.Future;
import interop.Interop;
import java.util.ArrayList;
import java.util.List;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.THttpClient;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;

/** Opens connections as the options say; cases ask it for clients. */
final class Connector {
  private static final int TIMEOUT = 30_000;

  final boolean multiplexed;
  final boolean http;
  private final Options options;
  private final List<TTransport> open = new ArrayList<>();

  Connector(Options options) {
    this.options = options;
    multiplexed = options.multiplexed;
    http = options.transport.equals("http");
  }

  TProtocol protocol() throws TException {
    TTransport transport;
    if (http) {
      THttpClient client = new THttpClient("http://" + options.address + "/");
      client.setConnectTimeout(TIMEOUT);
      client.setReadTimeout(TIMEOUT);
      transport = client;
    } else {
      TSocket socket = new TSocket(options.host(), options.port(), TIMEOUT);
      transport = options.transportFactory().getTransport(socket);
    }
    if (!transport.isOpen()) {
      transport.open();
    }
    open.add(transport);
    return options.protocolFactory().getProtocol(transport);
  }

  TProtocol named(TProtocol protocol, String service) {
    return multiplexed ? new TMultiplexedProtocol(protocol, service) : protocol;
  }

  Interop.Client client() throws TException {
    return new Interop.Client(named(protocol(), "Interop"));
  }

  Future.Client future() throws TException {
    return new Future.Client(named(protocol(), "Interop"));
  }

  void closeAll() {
    open.forEach(TTransport::close);
    open.clear();
  }
}
