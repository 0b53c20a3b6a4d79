import interop.Choice;
import interop.Colour;
import interop.Containers;
import interop.Empty;
import interop.Everything;
import interop.Key;
import interop.Keyed;
import interop.Newer;
import interop.Presence;
import interop.Tree;
import interop.interopConstants;
import interop.shared.Origin;
import interop.shared.Weight;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The values that the cases send and the server knows, made by hand. */
final class Values {
  private Values() {}

  static final List<Boolean> BOOLS = List.of(true, false);
  static final List<Byte> BYTES = List.of((byte) -128, (byte) -1, (byte) 0, (byte) 1, (byte) 127);
  static final List<Short> I16S =
      List.of((short) -32768, (short) -1, (short) 0, (short) 1, (short) 32767);
  static final List<Integer> I32S = List.of(-2147483648, -1, 0, 1, 2147483647);
  static final List<Long> I64S =
      List.of(-9223372036854775808L, -1L, 0L, 1L, 9223372036854775807L);
  static final List<Double> DOUBLES =
      List.of(0.0, 1.5, -1.5, 0.1, Double.MIN_VALUE, Double.MAX_VALUE);
  static final List<Double> SPECIAL_DOUBLES =
      List.of(-0.0, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN);
  static final List<String> STRINGS =
      List.of("", "plain", "Gr\u00fc\u00dfe, \u4e16\u754c \ud83d\ude80");
  static final List<String> SPECIAL_STRINGS =
      List.of("a\0b", "\"\\/\b\f\n\r\t\001\037\177\u0080\u2028");
  static final List<Colour> COLOURS =
      List.of(Colour.INFRARED, Colour.RED, Colour.GREEN, Colour.BLUE, Colour.ULTRAVIOLET);
  static final List<Everything> EVERYTHINGS =
      List.of(interopConstants.EVERYTHING_MIN, interopConstants.EVERYTHING_MAX);
  static final List<Containers> CONTAINERS =
      List.of(interopConstants.CONTAINERS_EMPTY, interopConstants.CONTAINERS_FULL);
  static final Origin ORIGIN = new Origin("desk", (short) 1);

  /** New buffers each time: writing one moves its position. */
  static List<ByteBuffer> binaries() {
    return List.of(
        ByteBuffer.wrap(new byte[0]),
        ByteBuffer.wrap(new byte[] {0, (byte) 0xff, (byte) 0x80, 0x7f}),
        pattern(256));
  }

  static List<Choice> choices() {
    return List.of(
        Choice.number(7),
        Choice.text("seven"),
        Choice.truth(true),
        Choice.everything(interopConstants.EVERYTHING_MAX),
        Choice.numbers(List.of(7)),
        Choice.real(7.5));
  }

  static Presence presenceLeast() {
    return new Presence().setMust(1).setPlain(3);
  }

  static Presence presenceMost() {
    return new Presence()
        .setMust(0)
        .setMay(0)
        .setPlain(0)
        .setMust_default(0)
        .setMay_default(0)
        .setPlain_default("")
        .setMay_text("")
        .setMay_truth(false)
        .setMay_list(new ArrayList<>())
        .setMay_empty(new Empty())
        .setMay_weight(Weight.NONE);
  }

  static Keyed keyed() {
    return new Keyed(
        Map.of(new Key(1, "one"), "first", new Key(2, "two"), "second"),
        Set.of(new Key(3, "three"), new Key(4, "")));
  }

  static Newer newer() {
    return new Newer()
        .setFirst(1)
        .setTruth(true)
        .setTiny((byte) 3)
        .setSmall((short) 4)
        .setMedium(5)
        .setLarge(6)
        .setReal(7.5)
        .setText("eight")
        .setEverything(interopConstants.EVERYTHING_MAX)
        .setTruths(List.of(true, false))
        .setMany(Map.of("one", List.of(interopConstants.EVERYTHING_MIN)))
        .setNumbers(Set.of(12))
        .setNothing(new HashMap<>())
        .setChoice(Choice.number(14))
        .setLast("end");
  }

  /** A tree that deep, with a leaf beside each branch. */
  static Tree chain(int depth) {
    Tree tree = new Tree(0, List.of());
    for (int level = 1; level < depth; level++) {
      tree = new Tree(level, List.of(tree, new Tree(-level, List.of())));
    }
    return tree;
  }

  /** That many bytes, each the low byte of its place. */
  static ByteBuffer pattern(int count) {
    byte[] out = new byte[count];
    for (int place = 0; place < count; place++) {
      out[place] = (byte) place;
    }
    return ByteBuffer.wrap(out);
  }
}
