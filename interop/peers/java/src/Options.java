import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TJSONProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.TTransportFactory;
import org.apache.thrift.transport.TZlibTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/** The command line. */
final class Options {
  String protocol = "binary";
  String transport = "buffered";
  String address = "127.0.0.1:0";
  String only = "";
  boolean multiplexed;

  static Options parse(String[] args) {
    Options out = new Options();
    for (int place = 1; place < args.length; place++) {
      if (args[place].equals("--multiplexed")) {
        out.multiplexed = true;
        continue;
      }
      if (place + 1 == args.length) {
        throw new IllegalArgumentException(args[place] + " needs a value");
      }
      String value = args[++place];
      switch (args[place - 1]) {
        case "--protocol":
          out.protocol = value;
          break;
        case "--transport":
          out.transport = value;
          break;
        case "--address":
          out.address = value;
          break;
        case "--case":
          out.only = value;
          break;
        default:
          throw new IllegalArgumentException("no such flag: " + args[place - 1]);
      }
    }
    if (out.address.startsWith("unix:")) {
      throw new IllegalArgumentException("libthrift has no Unix sockets: it sits on java.net.Socket");
    }
    return out;
  }

  String host() {
    return address.substring(0, address.lastIndexOf(':'));
  }

  int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  TProtocolFactory protocolFactory() {
    switch (protocol) {
      case "binary":
        return new TBinaryProtocol.Factory(true, true);
      case "binary-nonstrict":
        return new TBinaryProtocol.Factory(false, false);
      case "compact":
        return new TCompactProtocol.Factory();
      case "json":
        return new TJSONProtocol.Factory();
      default:
        throw new IllegalArgumentException("no such protocol: " + protocol);
    }
  }

  TTransportFactory transportFactory() throws TTransportException {
    switch (transport) {
      case "buffered": // TSocket buffers by itself
        return new TTransportFactory();
      case "framed":
        return new TFramedTransport.Factory();
      case "zlib":
        return new TZlibTransport.Factory();
      default:
        throw new IllegalArgumentException("no such transport: " + transport);
    }
  }
}
