import interop.Choice;
import interop.Colour;
import interop.Containers;
import interop.Empty;
import interop.Everything;
import interop.Interop;
import interop.Keyed;
import interop.Nested;
import interop.NotFound;
import interop.Older;
import interop.Presence;
import interop.Refused;
import interop.Second;
import interop.Tree;
import interop.Wide;
import interop.interopConstants;
import interop.shared.Origin;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What the server answers. */
final class Handler implements Interop.Iface {
  private final Set<Long> notified = ConcurrentHashMap.newKeySet();

  @Override
  public void ping() {}

  @Override
  public String whoami() {
    return "java";
  }

  @Override
  public boolean echo_bool(boolean value) {
    return value;
  }

  @Override
  public byte echo_byte(byte value) {
    return value;
  }

  @Override
  public short echo_i16(short value) {
    return value;
  }

  @Override
  public int echo_i32(int value) {
    return value;
  }

  @Override
  public long echo_i64(long value) {
    return value;
  }

  @Override
  public double echo_double(double value) {
    return value;
  }

  @Override
  public String echo_string(String value) {
    return value;
  }

  @Override
  public ByteBuffer echo_binary(ByteBuffer value) {
    return value;
  }

  @Override
  public Colour echo_enum(Colour value) {
    return value;
  }

  @Override
  public long echo_typedef(long value) {
    return value;
  }

  @Override
  public Empty echo_empty(Empty value) {
    return value;
  }

  @Override
  public Everything echo_everything(Everything value) {
    return value;
  }

  @Override
  public Presence echo_presence(Presence value) {
    return value;
  }

  @Override
  public Containers echo_containers(Containers value) {
    return value;
  }

  @Override
  public Nested echo_nested(Nested value) {
    return value;
  }

  @Override
  public Keyed echo_keyed(Keyed value) {
    return value;
  }

  @Override
  public Tree echo_tree(Tree value) {
    return value;
  }

  @Override
  public Choice echo_choice(Choice value) {
    return value;
  }

  @Override
  public Wide echo_wide(Wide value) {
    return value;
  }

  @Override
  public Origin echo_included(Origin value) {
    return value;
  }

  @Override
  public List<Boolean> echo_bools(List<Boolean> value) {
    return value;
  }

  @Override
  public List<Everything> echo_list(List<Everything> value) {
    return value;
  }

  @Override
  public Map<String, List<Map<Integer, String>>> echo_map(Map<String, List<Map<Integer, String>>> value) {
    return value;
  }

  @Override
  public Older echo_evolving(Older value) {
    return value;
  }

  @Override
  public List<Boolean> known_bools() {
    return Values.BOOLS;
  }

  @Override
  public List<Byte> known_bytes() {
    return Values.BYTES;
  }

  @Override
  public List<Short> known_i16s() {
    return Values.I16S;
  }

  @Override
  public List<Integer> known_i32s() {
    return Values.I32S;
  }

  @Override
  public List<Long> known_i64s() {
    return Values.I64S;
  }

  @Override
  public List<Double> known_doubles() {
    return Values.DOUBLES;
  }

  @Override
  public List<Double> known_special_doubles() {
    return Values.SPECIAL_DOUBLES;
  }

  @Override
  public List<String> known_strings() {
    return Values.STRINGS;
  }

  @Override
  public List<String> known_special_strings() {
    return Values.SPECIAL_STRINGS;
  }

  @Override
  public List<ByteBuffer> known_binaries() {
    return Values.binaries();
  }

  @Override
  public List<Everything> known_everythings() {
    return Values.EVERYTHINGS;
  }

  @Override
  public List<Containers> known_containers() {
    return Values.CONTAINERS;
  }

  @Override
  public Nested known_nested() {
    return interopConstants.NESTED_FULL;
  }

  @Override
  public Wide known_wide() {
    return interopConstants.WIDE_FULL;
  }

  @Override
  public List<Choice> known_choices() {
    return Values.choices();
  }

  @Override
  public Presence known_presence() {
    return Values.presenceLeast();
  }

  @Override
  public String join(int first, String second, long third, String fourth) {
    return first + "," + second + "," + third + "," + fourth;
  }

  @Override
  public int may_fail(String how) throws NotFound, Refused {
    switch (how) {
      case "not_found":
        throw new NotFound("it", 3);
      case "refused":
        throw new Refused("no").setHelper(Values.ORIGIN);
      case "internal":
        throw new IllegalStateException("undeclared failure");
      default:
        return interopConstants.ANSWER;
    }
  }

  @Override
  public void may_fail_void(boolean fails) throws NotFound {
    if (fails) {
      throw new NotFound("nothing", 0);
    }
  }

  @Override
  public void notify(long token) {
    notified.add(token);
  }

  @Override
  public boolean was_notified(long token) {
    return notified.contains(token);
  }

  @Override
  public int slow(int milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
    return milliseconds;
  }

  @Override
  public ByteBuffer make_bytes(int count) {
    return Values.pattern(count);
  }

  /** The second service. */
  static final class OfSecond implements Second.Iface {
    @Override
    public String greet(String name) {
      return "hello, " + name;
    }

    @Override
    public int echo_i32(int value) {
      return value + 1000;
    }
  }
}
