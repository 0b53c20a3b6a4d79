@0xd2c7b45e8a91f360;
# Calls over Cap'n Proto's protocol: every kind of field, parameters and results by name, failures, inheritance, objects.

enum Colour {
  infrared @0;
  red @1;
  ultraviolet @2;
}

struct Point {
  x @0 :Int32;
  y @1 :Int32 = -1;
}

struct Everything {
  truth @0 :Bool = true;
  tiny @1 :Int8;
  small @2 :Int16 = -7;
  medium @3 :Int32;
  large @4 :Int64;
  utiny @5 :UInt8;
  usmall @6 :UInt16;
  umedium @7 :UInt32;
  ularge @8 :UInt64;
  real32 @9 :Float32;
  real64 @10 :Float64 = 1.5;
  text @11 :Text = "by default";
  blob @12 :Data;
  colour @13 :Colour = red;
  point @14 :Point;
  nothing @15 :Void;

  shape :union {
    none @16 :Void;
    circle @17 :Float64;
    rectangle :group {
      width @18 :Int32;
      height @19 :Int32;
    }
    name @20 :Text;
  }

  place :group {
    street @21 :Text;
    house @22 :UInt16;
  }

  truths @23 :List(Bool);
  numbers @24 :List(Int32);
  reals @25 :List(Float64);
  texts @26 :List(Text);
  blobs @27 :List(Data);
  points @28 :List(Point);
  colours @29 :List(Colour);
  matrix @30 :List(List(Int32));

  union {
    left @31 :Int32;
    right @32 :Text;
  }
}

interface Base {
  whoami @0 () -> (name :Text);
  # The name of the library that answers.
}

interface Counter {
  # An object with a number.

  add @0 (amount :Int64) -> Total;
  child @1 (start :Int64) -> (counter :Counter);
  # A new one.
}

struct Total { total @0 :Int64; }

struct Named {
  name @0 :Text;
  counter @1 :Counter;
}

interface Counters {
  open @0 (start :Int64) -> (counter :Counter);
  giveBack @1 (counter :Counter) -> (counter :Counter);
  # The same.

  sum @2 (first :Counter, others :List(Named)) -> (total :Int64);
  # The sum of their numbers, for which each is asked with `add(0)`.

  keep @3 (counter :Counter) -> ();
  kept @4 () -> (counter :Counter);
  # The one that was kept last.

  forget @5 () -> ();
  alive @6 () -> (count :UInt32);
  # The counters of the server that have not been dropped.

  addTo @7 (counter :Counter, amount :Int64) -> Total;
  # Adds to the counter, and answers as it does: by a tail call, where the library has them.
}

interface Places extends(Base, Counters) {
  echo @0 (value :Everything) -> (value :Everything);
  known @1 () -> (values :List(Everything));
  # A value with nothing set, then the full one: `full` below.

  join @2 (first :Int32, second :Text, third :Int64 = 9) -> (text :Text);
  # Its parameters, with commas between them: "1,two,9".

  divide @3 (dividend :Int32, divisor :Int32) -> (quotient :Int32, remainder :Int32);
  turn @4 Point -> Point;
  # Parameters and results are structs by name; x and y change places.

  fail @5 (how :Text) -> (answer :Int32);
  # 42 for "none"; an exception with the reason "on purpose" of the type "failed", "overloaded", "disconnected" or "unimplemented".

  slow @6 (milliseconds :UInt32) -> (milliseconds :UInt32);
  bytes @7 (count :UInt32) -> (bytes :Data);
  # So many bytes, each the low byte of its place.

  wait @8 (token :Text) -> ();
  # Answers when the caller has given up: never.

  wasCancelled @9 (token :Text) -> (cancelled :Bool);
}

const full :Everything = (
  truth = false, tiny = -128, small = 32767, medium = -2147483648, large = -9223372036854775808,
  utiny = 255, usmall = 65535, umedium = 4294967295, ularge = 18446744073709551615,
  real32 = 0.5, real64 = -0.1, text = "Grüße, 世界", blob = 0x"00ff80", colour = ultraviolet, point = (x = 7),
  shape = (rectangle = (width = 3, height = 4)), place = (street = "Main Street", house = 12),
  truths = [true, false, true], numbers = [1, -1, 2147483647], reals = [0.25, 1e100],
  texts = ["", "one"], blobs = [0x"00", 0x"01"], points = [(x = 1, y = 2), ()], colours = [red, infrared],
  matrix = [[1, 2], [], [3]], right = "both"
);
