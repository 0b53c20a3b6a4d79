/**
 * The contract that Dovetail and the Apache Thrift peers speak with each other.
 *
 * Pure Thrift as the 0.17 compiler accepts it, without `uuid` (see uuid.thrift). Methods come in
 * two kinds: `echo_*` returns what it was sent, so that the caller compares; `known_*` returns
 * values which the server makes by itself, so that the caller compares them with its own. Each
 * codec is thereby proved in both directions.
 */

include "shared.thrift"

namespace cpp interop
namespace go interop
namespace java interop
namespace py interop
namespace rs interop

/** A name for a number. */
typedef i64 Token

/** A name for a name for a number. */
typedef Token Ticket

/** A name for a container. */
typedef list<map<i32, string>> Pages

/** Colours, with a gap, a negative number and the largest one. */
enum Colour {
  /** Below zero. */
  INFRARED = -1
  /** The default of every language. */
  RED = 0
  /** Its number is its place. */
  GREEN = 1
  /** After a gap. */
  BLUE = 20
  /** The largest. */
  ULTRAVIOLET = 2147483647
}

/** No fields at all. */
struct Empty {
}

/** One field of every base type. */
struct Everything {
  /** A bool: compact puts its value into the field header. */
  1: bool truth
  /** The old name of i8. */
  2: byte tiny
  /** Two bytes. */
  3: i16 small
  /** Four bytes. */
  4: i32 medium
  /** Eight bytes. */
  5: i64 large
  /** Big-endian in binary, little-endian in compact. */
  6: double real
  /** UTF-8. */
  7: string text
  /** Any bytes. */
  8: binary blob
  /** An enum travels as i32. */
  9: Colour colour
  /** A typedef of a typedef. */
  10: Ticket ticket
  /** A struct of an included file. */
  11: shared.Origin origin
}

/** Every degree of presence. */
struct Presence {
  /** Always on the wire; refused when missing. */
  1: required i32 must
  /** On the wire only when set. */
  2: optional i32 may
  /** Default requiredness: written always, read leniently. */
  3: i32 plain
  /** Required with a default. */
  4: required i32 must_default = 4
  /** Optional with a default. */
  5: optional i32 may_default = 5
  /** Default requiredness with a default. */
  6: string plain_default = "six"
  /** An optional empty text is not an absent one. */
  7: optional string may_text
  /** An optional false is not an absent one. */
  8: optional bool may_truth
  /** An optional empty list is not an absent one. */
  9: optional list<i32> may_list
  /** An optional empty struct is not an absent one. */
  10: optional Empty may_empty
  /** An optional enum. */
  11: optional shared.Weight may_weight
}

/** Containers, one of each kind. */
struct Containers {
  /** Bools: each takes one byte, also in compact. */
  1: list<bool> truths
  /** More than fourteen elements need the long form in compact. */
  2: list<i32> numbers
  /** Doubles in a container. */
  3: list<double> reals
  /** Strings in a set. */
  4: set<string> words
  /** Numbers in a set. */
  5: set<i64> bigs
  /** A map from text. */
  6: map<string, i32> counts
  /** A map from numbers. */
  7: map<i16, string> names
  /** A map from enums to structs. */
  8: map<Colour, shared.Origin> origins
  /** Bytes in a list. */
  9: list<binary> blobs
  /** A map from and to bools. */
  10: map<bool, bool> opposites
}

/** Containers in containers. */
struct Nested {
  /** A matrix with rows of unequal length. */
  1: list<list<i32>> matrix
  /** Three deep. */
  2: map<string, list<map<i32, string>>> book
  /** The same through a typedef. */
  3: Pages pages
  /** A list of sets. */
  4: list<set<i32>> groups
  /** A map of maps. */
  5: map<i32, map<i32, i32>> table
  /** A list of structs. */
  6: list<shared.Origin> origins
  /** Four deep, with the empty one at each level. */
  7: list<list<list<list<i8>>>> deep
}

/** A struct that serves as a key. */
struct Key {
  /** First part. */
  1: i32 number
  /** Second part. */
  2: string word
} (python.immutable = "")

/** Maps and sets with struct keys. */
struct Keyed {
  /** Struct to text. */
  1: map<Key, string> by_key
  /** A set of structs. */
  2: set<Key> keys
}

/** A struct that contains itself. */
struct Tree {
  /** The value here. */
  1: i32 value
  /** The branches. */
  2: list<Tree> children
}

/** Exactly one of these. */
union Choice {
  /** A number. */
  1: i32 number
  /** A text. */
  2: string text
  /** A bool. */
  3: bool truth
  /** A struct. */
  4: Everything everything
  /** A container. */
  5: list<i32> numbers
  /** A high field id. */
  300: double real
}

/** Many fields, with jumps of the field id small and large. */
struct Wide {
  /** Field 1. */
  1: optional i32 f1
  /** Field 2. */
  2: optional bool f2
  /** Field 3. */
  3: optional bool f3
  /** Field 4. */
  4: optional i64 f4
  /** Field 5. */
  5: optional string f5
  /** Field 6. */
  6: optional double f6
  /** Field 7. */
  7: optional i8 f7
  /** Field 8. */
  8: optional i16 f8
  /** Field 9. */
  9: optional list<i32> f9
  /** Field 10. */
  10: optional Empty f10
  /** Field 11. */
  11: optional i32 f11
  /** Field 12. */
  12: optional i32 f12
  /** Field 13. */
  13: optional i32 f13
  /** Field 14. */
  14: optional i32 f14
  /** Field 15: the last id that a jump from 0 reaches in the short form. */
  15: optional i32 f15
  /** Field 16. */
  16: optional i32 f16
  /** Field 17. */
  17: optional bool f17
  /** Field 32: a jump of exactly 15. */
  32: optional bool f32
  /** Field 48: a jump of 16, the first long one. */
  48: optional bool f48
  /** Field 63. */
  63: optional i32 f63
  /** Field 64: zigzag of the id needs two bytes. */
  64: optional i32 f64
  /** Field 127: the largest signed byte. */
  127: optional string f127
  /** Field 128. */
  128: optional i32 f128
  /** Field 255: the largest byte. */
  255: optional bool f255
  /** Field 256. */
  256: optional map<string, string> f256
  /** Field 257. */
  257: optional binary f257
  /** Field 1000. */
  1000: optional i64 f1000
  /** Field 8192: zigzag of the id needs three bytes. */
  8192: optional i32 f8192
  /** Field 32767: the largest. */
  32767: optional string f32767
}

/** A struct as an older program knows it. */
struct Older {
  /** Known to both. */
  1: i32 first
  /** Known to both, after what only the newer one knows. */
  20: string last
}

/** The same struct as a newer program knows it: the older one must skip what it does not know. */
struct Newer {
  /** Known to both. */
  1: i32 first
  /** Skipped bool. */
  2: optional bool truth
  /** Skipped byte. */
  3: optional i8 tiny
  /** Skipped i16. */
  4: optional i16 small
  /** Skipped i32. */
  5: optional i32 medium
  /** Skipped i64. */
  6: optional i64 large
  /** Skipped double. */
  7: optional double real
  /** Skipped text. */
  8: optional string text
  /** Skipped struct. */
  9: optional Everything everything
  /** Skipped list of bools. */
  10: optional list<bool> truths
  /** Skipped map of lists of structs. */
  11: optional map<string, list<Everything>> many
  /** Skipped set. */
  12: optional set<i32> numbers
  /** Skipped empty map: compact writes it as a single zero. */
  13: optional map<i32, i32> nothing
  /** Skipped union. */
  14: optional Choice choice
  /** Known to both. */
  20: string last
}

/** Something is not there. */
exception NotFound {
  /** What was looked for. */
  1: string subject
  /** How many were searched. */
  2: i32 searched
}

/** Something is not allowed. */
exception Refused {
  /** Why. */
  1: string reason
  /** Who can help. */
  2: optional shared.Origin helper
}

/** A bool. */
const bool YES = true

/** A number. */
const i32 ANSWER = 42

/** Every base type at its lower end. */
const Everything EVERYTHING_MIN = {
  "truth": 0,
  "tiny": -128,
  "small": -32768,
  "medium": -2147483648,
  "large": -9223372036854775808,
  "real": -1.5,
  "text": "",
  "blob": "",
  "colour": Colour.INFRARED,
  "ticket": -9223372036854775808,
  "origin": { "host": "", "port": -32768 },
}

/** Every base type at its upper end. */
const Everything EVERYTHING_MAX = {
  "truth": 1,
  "tiny": 127,
  "small": 32767,
  "medium": 2147483647,
  "large": 9223372036854775807,
  "real": 1234.5,
  "text": "Grüße, 世界 🚀",
  "blob": "bytes",
  "colour": Colour.ULTRAVIOLET,
  "ticket": 9223372036854775807,
  "origin": { "host": "127.0.0.1", "port": 32767 },
}

/** Containers with something in each. */
const Containers CONTAINERS_FULL = {
  "truths": [1, 0, 1],
  "numbers": [0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, 1000000, -1000000, 2147483647, -2147483648],
  "reals": [0.5, -0.25, 1e100],
  "words": ["alpha"],
  "bigs": [9223372036854775807],
  "counts": { "one": 1 },
  "names": { 7: "seven" },
  "origins": { Colour.BLUE: { "host": "here", "port": 1 } },
  "blobs": ["", "x"],
  "opposites": { 1: 0 },
}

/** Containers with nothing in any. */
const Containers CONTAINERS_EMPTY = {
  "truths": [],
  "numbers": [],
  "reals": [],
  "words": [],
  "bigs": [],
  "counts": {},
  "names": {},
  "origins": {},
  "blobs": [],
  "opposites": {},
}

/** Containers in containers. */
const Nested NESTED_FULL = {
  "matrix": [[1, 2, 3], [], [4]],
  "book": { "chapter": [{ 1: "one" }, {}, { 2: "two" }] },
  "pages": [{ 3: "three" }],
  "groups": [[1], []],
  "table": { 1: { 2: 3 } },
  "origins": [{ "host": "a", "port": 1 }, { "host": "b", "port": 9090 }],
  "deep": [[[[1, 2], []], []], []],
}

/** Fields on both sides of every jump. */
const Wide WIDE_FULL = {
  "f1": 1,
  "f2": 1,
  "f3": 0,
  "f4": 4,
  "f5": "five",
  "f6": 6.5,
  "f7": 7,
  "f8": 8,
  "f9": [9, 9],
  "f10": {},
  "f11": 11,
  "f12": 12,
  "f13": 13,
  "f14": 14,
  "f15": 15,
  "f16": 16,
  "f17": 1,
  "f32": 0,
  "f48": 1,
  "f63": 63,
  "f64": 64,
  "f127": "127",
  "f128": 128,
  "f255": 0,
  "f256": { "256": "yes" },
  "f257": "257",
  "f1000": 1000,
  "f8192": 8192,
  "f32767": "32767",
}

/** What every Thrift service of this contract can do. */
service Base {
  /** Nothing, and answers nothing. */
  void ping()

  /** The name of the language that answers. */
  string whoami()
}

/** The service under test. */
service Interop extends Base {
  /** Returns the value. */
  bool echo_bool(1: bool value)
  /** Returns the value. */
  i8 echo_byte(1: i8 value)
  /** Returns the value. */
  i16 echo_i16(1: i16 value)
  /** Returns the value. */
  i32 echo_i32(1: i32 value)
  /** Returns the value. */
  i64 echo_i64(1: i64 value)
  /** Returns the value. */
  double echo_double(1: double value)
  /** Returns the value. */
  string echo_string(1: string value)
  /** Returns the value. */
  binary echo_binary(1: binary value)
  /** Returns the value. */
  Colour echo_enum(1: Colour value)
  /** Returns the value. */
  Ticket echo_typedef(1: Ticket value)
  /** Returns the value. */
  Empty echo_empty(1: Empty value)
  /** Returns the value. */
  Everything echo_everything(1: Everything value)
  /** Returns the value. */
  Presence echo_presence(1: Presence value)
  /** Returns the value. */
  Containers echo_containers(1: Containers value)
  /** Returns the value. */
  Nested echo_nested(1: Nested value)
  /** Returns the value. */
  Keyed echo_keyed(1: Keyed value)
  /** Returns the value. */
  Tree echo_tree(1: Tree value)
  /** Returns the value. */
  Choice echo_choice(1: Choice value)
  /** Returns the value. */
  Wide echo_wide(1: Wide value)
  /** Returns the value. */
  shared.Origin echo_included(1: shared.Origin value)
  /** Returns the value. */
  list<bool> echo_bools(1: list<bool> value)
  /** Returns the value. */
  list<Everything> echo_list(1: list<Everything> value)
  /** Returns the value. */
  map<string, list<map<i32, string>>> echo_map(1: map<string, list<map<i32, string>>> value)
  /** Returns the value; unknown fields are lost on the way. */
  Older echo_evolving(1: Older value)

  /** Returns true, false. */
  list<bool> known_bools()
  /** Returns -128, -1, 0, 1, 127. */
  list<i8> known_bytes()
  /** Returns -32768, -1, 0, 1, 32767. */
  list<i16> known_i16s()
  /** Returns -2147483648, -1, 0, 1, 2147483647. */
  list<i32> known_i32s()
  /** Returns -9223372036854775808, -1, 0, 1, 9223372036854775807. */
  list<i64> known_i64s()
  /** Returns 0.0, 1.5, -1.5, 0.1, the smallest subnormal 5e-324, the largest 1.7976931348623157e308. */
  list<double> known_doubles()
  /** Returns -0.0, infinity, -infinity, NaN. */
  list<double> known_special_doubles()
  /** Returns the empty text, "plain", "Grüße, 世界 🚀". */
  list<string> known_strings()
  /**
   * Returns "a", NUL, "b" in one text, and in another: quote, backslash, slash, backspace, form feed,
   * newline, return, tab, U+0001, U+001F, U+007F, U+0080, U+2028.
   */
  list<string> known_special_strings()
  /** Returns no byte; bytes 00 ff 80 7f; all 256 bytes in order. */
  list<binary> known_binaries()
  /** Returns EVERYTHING_MIN and EVERYTHING_MAX. */
  list<Everything> known_everythings()
  /** Returns CONTAINERS_EMPTY and CONTAINERS_FULL. */
  list<Containers> known_containers()
  /** Returns NESTED_FULL. */
  Nested known_nested()
  /** Returns WIDE_FULL. */
  Wide known_wide()
  /** Returns one of each alternative: 7, "seven", true, EVERYTHING_MAX, [7], 7.5. */
  list<Choice> known_choices()
  /** Returns must = 1, plain = 3, and the defaults where there are any. */
  Presence known_presence()

  /** Returns its arguments joined by commas: "1,two,3,four". */
  string join(1: i32 first, 2: string second, 3: i64 third, 4: string fourth)

  /**
   * Returns ANSWER for "none"; throws NotFound{subject: "it", searched: 3} for "not_found",
   * Refused{reason: "no", helper: {host: "desk", port: 1}} for "refused", and something that is
   * not declared for "internal".
   */
  i32 may_fail(1: string how) throws (1: NotFound not_found, 2: Refused refused)

  /** Returns nothing, or throws NotFound{subject: "nothing", searched: 0}. */
  void may_fail_void(1: bool fails) throws (1: NotFound not_found)

  /** Remembers the token; nobody waits for it. */
  oneway void notify(1: Token token)

  /** Whether the token was notified before. */
  bool was_notified(1: Token token)

  /** Sleeps, then returns the number. */
  i32 slow(1: i32 milliseconds)

  /** Returns that many bytes, each the low byte of its place. */
  binary make_bytes(1: i32 count)
}

/** The second service behind one multiplexed port. */
service Second {
  /** Returns "hello, " and the name. */
  string greet(1: string name)

  /** Returns the value plus 1000: the same method name as in Interop must not be confused. */
  i32 echo_i32(1: i32 value)
}

/** The service under test as a newer client believes it to be. */
service Future {
  /** Returns what the server understood. */
  Newer echo_evolving(1: Newer value)

  /** No server knows this one: it must answer UNKNOWN_METHOD. */
  i32 not_yet(1: i32 value)
}
