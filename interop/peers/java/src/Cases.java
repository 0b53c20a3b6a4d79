import interop.Containers;
import interop.Empty;
import interop.Everything;
import interop.Future;
import interop.Interop;
import interop.Newer;
import interop.NotFound;
import interop.Presence;
import interop.Refused;
import interop.Second;
import interop.Wide;
import interop.interopConstants;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TProtocol;

/** The cases. Their names are the same in every language. */
final class Cases {
  private Cases() {}

  /** One case: what it returns is worth a note. */
  interface Case {
    String run(Connector connector) throws Exception;
  }

  /** The case does not exist here, for the reason given. */
  static final class Skip extends Exception {
    Skip(String reason) {
      super(reason);
    }
  }

  interface Echo<T> {
    T call(Interop.Client client, T value) throws TException;
  }

  interface Known<T> {
    T call(Interop.Client client) throws TException;
  }

  interface Call {
    void run() throws TException;
  }

  private static void check(Object got, Object want) {
    if (got instanceof List && want instanceof List) {
      // Lists of different classes and Double's own equals: NaN equals NaN, -0.0 is not 0.0.
      got = new ArrayList<>((List<?>) got);
      want = new ArrayList<>((List<?>) want);
    }
    if (!got.equals(want)) {
      throw new AssertionError("got " + shown(got) + ", want " + shown(want));
    }
  }

  private static String shown(Object value) {
    String text = String.valueOf(value);
    return text.length() > 120 ? text.substring(0, 120) : text;
  }

  private static <T> Case echo(Echo<T> method, List<T> sent) {
    return connector -> {
      Interop.Client client = connector.client();
      for (T value : sent) {
        check(method.call(client, value), value);
      }
      return "";
    };
  }

  private static <T> Case known(Known<T> method, T want) {
    return connector -> {
      check(method.call(connector.client()), want);
      return "";
    };
  }

  private static <E extends TException> E thrown(Class<E> expected, Call call) throws TException {
    try {
      call.run();
    } catch (TException error) {
      if (expected.isInstance(error)) {
        return expected.cast(error);
      }
      throw error;
    }
    throw new AssertionError("nothing was thrown");
  }

  private static List<Boolean> thirds() {
    List<Boolean> out = new ArrayList<>();
    for (int place = 0; place < 200; place++) {
      out.add(place % 3 == 0);
    }
    return out;
  }

  private static List<Everything> hundred() {
    List<Everything> out = new ArrayList<>();
    Collections.nCopies(50, Values.EVERYTHINGS).forEach(out::addAll);
    return out;
  }

  private static String ping(Connector connector) throws Exception {
    connector.client().ping();
    return "";
  }

  /** Whether an optional field at its default is on the wire is the server's own affair. */
  private static Presence filled(Presence value) {
    return value.setMay_default(value.getMay_default());
  }

  private static String evolve(Connector connector) throws Exception {
    Newer got = connector.future().echo_evolving(Values.newer());
    check(got, new Newer().setFirst(1).setLast("end"));
    return "";
  }

  private static String join(Connector connector) throws Exception {
    check(connector.client().join(1, "two", 3, "four"), "1,two,3,four");
    return "";
  }

  private static String exceptionNone(Connector connector) throws Exception {
    check(connector.client().may_fail("none"), interopConstants.ANSWER);
    return "";
  }

  private static String exceptionNotFound(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    check(thrown(NotFound.class, () -> client.may_fail("not_found")), new NotFound("it", 3));
    check(client.echo_i32(1), 1);
    return "";
  }

  private static String exceptionRefused(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    Refused error = thrown(Refused.class, () -> client.may_fail("refused"));
    check(error, new Refused("no").setHelper(Values.ORIGIN));
    return "";
  }

  private static String exceptionUndeclared(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    TApplicationException error =
        thrown(TApplicationException.class, () -> client.may_fail("internal"));
    return "type " + error.getType() + ": " + error.getMessage();
  }

  private static String afterUndeclared(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    thrown(TApplicationException.class, () -> client.may_fail("internal"));
    check(client.echo_i32(1), 1);
    return "";
  }

  private static String exceptionVoid(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    client.may_fail_void(false);
    check(thrown(NotFound.class, () -> client.may_fail_void(true)), new NotFound("nothing", 0));
    return "";
  }

  private static String unknownMethod(Connector connector) throws Exception {
    Future.Client client = connector.future();
    TApplicationException error = thrown(TApplicationException.class, () -> client.not_yet(1));
    check(error.getType(), TApplicationException.UNKNOWN_METHOD);
    return error.getMessage();
  }

  private static String afterUnknownMethod(Connector connector) throws Exception {
    Future.Client client = connector.future();
    thrown(TApplicationException.class, () -> client.not_yet(1));
    check(client.echo_evolving(Values.newer()).last, "end");
    return "";
  }

  private static String oneway(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    long token = new Random().nextLong();
    check(client.was_notified(token), false);
    client.notify(token);
    for (int turn = 0; turn < 100; turn++) {
      if (client.was_notified(token)) {
        return "";
      }
      Thread.sleep(20);
    }
    throw new AssertionError("the token never arrived");
  }

  private static String secondService(Connector connector) throws Exception {
    if (!connector.multiplexed) {
      throw new Skip("needs --multiplexed");
    }
    TProtocol protocol = connector.protocol();
    Interop.Client first = new Interop.Client(connector.named(protocol, "Interop"));
    Second.Client second = new Second.Client(connector.named(protocol, "Second"));
    check(second.greet("you"), "hello, you");
    check(second.echo_i32(1), 1001);
    check(first.echo_i32(1), 1);
    return "";
  }

  private static String unknownService(Connector connector) throws Exception {
    if (!connector.multiplexed) {
      throw new Skip("needs --multiplexed");
    }
    Second.Client client = new Second.Client(connector.named(connector.protocol(), "Nowhere"));
    TException error = thrown(TException.class, () -> client.greet("you"));
    return error.toString();
  }

  private static String slow(Connector connector) throws Exception {
    check(connector.client().slow(50), 50);
    return "";
  }

  private static String bigBinary(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    for (int size : new int[] {65535, 65536, 100000}) {
      check(client.echo_binary(Values.pattern(size)), Values.pattern(size));
    }
    check(client.make_bytes(300000), Values.pattern(300000));
    return "";
  }

  private static String bigList(Connector connector) throws Exception {
    Containers value = interopConstants.CONTAINERS_EMPTY.deepCopy();
    for (int number = 0; number < 20000; number++) {
      value.addToNumbers(number);
    }
    check(connector.client().echo_containers(value), value);
    return "";
  }

  private static String manyCalls(Connector connector) throws Exception {
    Interop.Client client = connector.client();
    for (int number = 0; number < 500; number++) {
      check(client.echo_i32(number), number);
    }
    return "";
  }

  private static String pipelined(Connector connector) throws Exception {
    if (connector.http) {
      throw new Skip("one HTTP exchange carries one call");
    }
    // A client refuses every answer but that to its latest call, so this works on the protocol.
    TProtocol protocol = connector.protocol();
    TProtocol out = connector.named(protocol, "Interop");
    for (int number = 0; number < 50; number++) {
      out.writeMessageBegin(new TMessage("echo_i32", TMessageType.CALL, number));
      new Interop.echo_i32_args(number).write(out);
      out.writeMessageEnd();
      out.getTransport().flush();
    }
    for (int number = 0; number < 50; number++) {
      TMessage message = protocol.readMessageBegin();
      check(message, new TMessage("echo_i32", TMessageType.REPLY, number));
      Interop.echo_i32_result result = new Interop.echo_i32_result();
      result.read(protocol);
      protocol.readMessageEnd();
      check(result.success, number);
    }
    return "";
  }

  private static String connections(Connector connector) throws Exception {
    List<Interop.Client> clients = new ArrayList<>();
    for (int place = 0; place < 8; place++) {
      clients.add(connector.client());
    }
    for (int turn = 0; turn < 3; turn++) {
      for (int place = 0; place < 8; place++) {
        check(clients.get(place).echo_i32(place + turn), place + turn);
      }
    }
    return "";
  }

  static Map<String, Case> all() {
    Map<String, Case> out = new LinkedHashMap<>();
    out.put("ping", Cases::ping);
    out.put("whoami", connector -> connector.client().whoami());
    out.put("echo_bool", echo(Interop.Client::echo_bool, Values.BOOLS));
    out.put("echo_byte", echo(Interop.Client::echo_byte, Values.BYTES));
    out.put("echo_i16", echo(Interop.Client::echo_i16, Values.I16S));
    out.put("echo_i32", echo(Interop.Client::echo_i32, Values.I32S));
    out.put("echo_i64", echo(Interop.Client::echo_i64, Values.I64S));
    out.put("echo_double", echo(Interop.Client::echo_double, Values.DOUBLES));
    out.put("echo_special_double", echo(Interop.Client::echo_double, Values.SPECIAL_DOUBLES));
    out.put("echo_string", echo(Interop.Client::echo_string, Values.STRINGS));
    out.put("echo_special_string", echo(Interop.Client::echo_string, Values.SPECIAL_STRINGS));
    out.put("echo_binary", echo(Interop.Client::echo_binary, Values.binaries()));
    out.put("echo_enum", echo(Interop.Client::echo_enum, Values.COLOURS));
    out.put("echo_typedef", echo(Interop.Client::echo_typedef, Values.I64S));
    out.put("echo_empty", echo(Interop.Client::echo_empty, List.of(new Empty())));
    out.put("echo_everything", echo(Interop.Client::echo_everything, Values.EVERYTHINGS));
    out.put(
        "echo_presence",
        echo(
            (client, value) -> filled(client.echo_presence(value)),
            List.of(filled(Values.presenceLeast()), Values.presenceMost())));
    out.put("echo_containers", echo(Interop.Client::echo_containers, Values.CONTAINERS));
    out.put("echo_nested", echo(Interop.Client::echo_nested, List.of(interopConstants.NESTED_FULL)));
    out.put("echo_keyed", echo(Interop.Client::echo_keyed, List.of(Values.keyed())));
    out.put("echo_tree", echo(Interop.Client::echo_tree, List.of(Values.chain(1), Values.chain(25))));
    out.put("echo_choice", echo(Interop.Client::echo_choice, Values.choices()));
    out.put("echo_wide", echo(Interop.Client::echo_wide, List.of(new Wide(), interopConstants.WIDE_FULL)));
    out.put("echo_included", echo(Interop.Client::echo_included, List.of(Values.ORIGIN)));
    out.put("echo_bools", echo(Interop.Client::echo_bools, List.of(List.of(), thirds())));
    out.put("echo_list", echo(Interop.Client::echo_list, List.of(List.of(), hundred())));
    out.put("echo_map", echo(Interop.Client::echo_map, List.of(Map.of(), interopConstants.NESTED_FULL.book)));
    out.put("evolve", Cases::evolve);
    out.put("known_bools", known(Interop.Client::known_bools, Values.BOOLS));
    out.put("known_bytes", known(Interop.Client::known_bytes, Values.BYTES));
    out.put("known_i16s", known(Interop.Client::known_i16s, Values.I16S));
    out.put("known_i32s", known(Interop.Client::known_i32s, Values.I32S));
    out.put("known_i64s", known(Interop.Client::known_i64s, Values.I64S));
    out.put("known_doubles", known(Interop.Client::known_doubles, Values.DOUBLES));
    out.put("known_special_doubles", known(Interop.Client::known_special_doubles, Values.SPECIAL_DOUBLES));
    out.put("known_strings", known(Interop.Client::known_strings, Values.STRINGS));
    out.put("known_special_strings", known(Interop.Client::known_special_strings, Values.SPECIAL_STRINGS));
    out.put("known_binaries", known(Interop.Client::known_binaries, Values.binaries()));
    out.put("known_everythings", known(Interop.Client::known_everythings, Values.EVERYTHINGS));
    out.put("known_containers", known(Interop.Client::known_containers, Values.CONTAINERS));
    out.put("known_nested", known(Interop.Client::known_nested, interopConstants.NESTED_FULL));
    out.put("known_wide", known(Interop.Client::known_wide, interopConstants.WIDE_FULL));
    out.put("known_choices", known(Interop.Client::known_choices, Values.choices()));
    out.put(
        "known_presence",
        known(client -> filled(client.known_presence()), filled(Values.presenceLeast())));
    out.put("join", Cases::join);
    out.put("exception_none", Cases::exceptionNone);
    out.put("exception_not_found", Cases::exceptionNotFound);
    out.put("exception_refused", Cases::exceptionRefused);
    out.put("exception_undeclared", Cases::exceptionUndeclared);
    out.put("after_undeclared", Cases::afterUndeclared);
    out.put("exception_void", Cases::exceptionVoid);
    out.put("unknown_method", Cases::unknownMethod);
    out.put("after_unknown_method", Cases::afterUnknownMethod);
    out.put("oneway", Cases::oneway);
    out.put("second_service", Cases::secondService);
    out.put("unknown_service", Cases::unknownService);
    out.put("slow", Cases::slow);
    out.put("big_binary", Cases::bigBinary);
    out.put("big_list", Cases::bigList);
    String big = "0123456789abcdef".repeat(10 * 1024 * 64);
    out.put("big_string", echo(Interop.Client::echo_string, List.of(big)));
    out.put("many_calls", Cases::manyCalls);
    out.put("pipelined", Cases::pipelined);
    out.put("connections", Cases::connections);
    return out;
  }
}
