import interop.Base;
import interop.Choice;
import interop.Containers;
import interop.Empty;
import interop.Everything;
import interop.Interop;
import interop.Keyed;
import interop.Nested;
import interop.Newer;
import interop.Presence;
import interop.Tree;
import interop.Wide;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializable;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.TMemoryBuffer;
import org.apache.thrift.transport.TTransport;

/** Captures golden bytes: reads what Python wrote in binary and writes it again with this library. */
final class Golden {
  private Golden() {}

  private static final Map<String, TSerializable> MESSAGES = new TreeMap<>();
  private static final Map<String, TSerializable> STRUCTS = new TreeMap<>();

  static {
    MESSAGES.put("call_ping", new Base.ping_args());
    MESSAGES.put("call_echo_i32", new Interop.echo_i32_args());
    MESSAGES.put("call_seqid_max", new Interop.echo_i32_args());
    MESSAGES.put("call_seqid_negative", new Interop.echo_i32_args());
    MESSAGES.put("call_multiplexed", new Interop.echo_string_args());
    MESSAGES.put("call_join", new Interop.join_args());
    MESSAGES.put("oneway_notify", new Interop.notify_args());
    MESSAGES.put("reply_void", new Base.ping_result());
    MESSAGES.put("reply_bool", new Interop.echo_bool_result());
    MESSAGES.put("reply_i32", new Interop.echo_i32_result());
    MESSAGES.put("reply_declared", new Interop.may_fail_result());
    MESSAGES.put("reply_declared_second", new Interop.may_fail_result());
    STRUCTS.put("empty", new Empty());
    STRUCTS.put("everything", new Everything());
    STRUCTS.put("presence", new Presence());
    STRUCTS.put("containers", new Containers());
    STRUCTS.put("nested", new Nested());
    STRUCTS.put("keyed", new Keyed());
    STRUCTS.put("tree", new Tree());
    STRUCTS.put("choice", new Choice());
    STRUCTS.put("newer", new Newer());
  }

  static void capture(String directory) throws IOException, TException {
    Path python = Path.of(directory, "python");
    for (String name :
        List.of("binary", "binary-nonstrict", "compact", "json", "binary-framed",
            "compact-framed", "json-framed")) {
      try (var files = Files.list(python.resolve(name))) {
        for (Path known : files.sorted().toList()) {
          String file = known.getFileName().toString();
          String line = rewrite(name, python.resolve("binary").resolve(file)) + "\n";
          if (!line.equals(Files.readString(known))) {
            Path out = Path.of(directory, "java", name, file);
            Files.createDirectories(out.getParent());
            Files.writeString(out, line);
          }
        }
      }
    }
  }

  private static String rewrite(String protocol, Path source) throws IOException, TException {
    String name = source.getFileName().toString().replace(".hex", "");
    byte[] bytes = HexFormat.of().parseHex(Files.readString(source).trim());
    TMemoryBuffer input = new TMemoryBuffer(bytes.length);
    input.write(bytes);
    TProtocol reader = new TBinaryProtocol(input);
    TMemoryBuffer memory = new TMemoryBuffer(64);
    Options options = new Options();
    options.protocol = protocol;
    TTransport transport = memory;
    if (protocol.endsWith("-framed")) {
      options.protocol = protocol.replace("-framed", "");
      options.transport = "framed";
      transport = options.transportFactory().getTransport(memory);
    }
    TProtocol out = options.protocolFactory().getProtocol(transport);
    boolean message = MESSAGES.containsKey(name) || name.startsWith("exception_");
    if (message) {
      TMessage begin = reader.readMessageBegin();
      out.writeMessageBegin(begin);
    }
    if (name.startsWith("exception_")) {
      TApplicationException.readFrom(reader).write(out);
    } else {
      TSerializable value = value(name);
      value.read(reader);
      value.write(out);
    }
    if (message) {
      out.writeMessageEnd();
    }
    transport.flush();
    return HexFormat.of().formatHex(memory.getArray(), 0, memory.length());
  }

  /** A new value; its name begins with that of its type, and all others are a Wide. */
  private static TSerializable value(String name) {
    TSerializable prototype = MESSAGES.getOrDefault(name, new Wide());
    for (Map.Entry<String, TSerializable> each : STRUCTS.entrySet()) {
      if (name.startsWith(each.getKey())) {
        prototype = each.getValue();
      }
    }
    return (TSerializable) ((org.apache.thrift.TBase<?, ?>) prototype).deepCopy();
  }
}
