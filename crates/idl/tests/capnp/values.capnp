@0xd8a4c3f90b1e7562;

struct Defaults {
  flag @0 :Bool = true;
  byte @1 :Int8 = -128;
  short @2 :Int16 = -0x7f;
  int @3 :Int32 = 017;
  long @4 :Int64 = -9223372036854775808;
  ubyte @5 :UInt8 = 255;
  ulong @6 :UInt64 = 18446744073709551615;
  float @7 :Float32 = 1.5;
  double @8 :Float64 = -2e-3;
  whole @9 :Float64 = 7;
  endless @10 :Float64 = inf;
  negative @11 :Float32 = -inf;
  none @12 :Float64 = nan;
  text @13 :Text = "one\ttwo\n\"three\"\x41\101" " four";
  data @14 :Data = 0x"00 ff 10";
  words @15 :Data = "bytes";
  color @16 :Color = green;
  colors @17 :List(Color) = [red, blue];
  point @18 :Point = (x = 1, y = 7);
  points @19 :List(Point) = [(), (x = 2), .origin];
  lists @20 :List(List(Bool)) = [[true, false], []];
  nothing @21 :Void = void;
  named @22 :UInt16 = .answer;
}

enum Color { red @0; green @1; blue @2; }
struct Point { x @0 :Int32; y @1 :Int32 = 5; }
const answer :UInt16 = 42;
const origin :Point = (x = 3, y = 4);
const texts :List(Text) = ["a", "b"];
