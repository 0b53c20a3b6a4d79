@0xa4f1c83e7d905b26;
# Every form that a value can have in Cap'n Proto's encoding.

struct Zoo {
  flag @0 :Bool;
  yes @1 :Bool = true;
  i8 @2 :Int8 = -5;
  i16 @3 :Int16;
  i32 @4 :Int32 = 1000;
  i64 @5 :Int64 = -9223372036854775808;
  u8 @6 :UInt8;
  u16 @7 :UInt16 = 65535;
  u32 @8 :UInt32;
  u64 @9 :UInt64 = 18446744073709551615;
  f32 @10 :Float32 = 1.5;
  f64 @11 :Float64;
  text @12 :Text;
  data @13 :Data;
  color @14 :Color = green;
  inner @15 :Inner;
  flags @16 :List(Bool);
  bytes @17 :List(UInt8);
  shorts @18 :List(Int16);
  ints @19 :List(UInt32);
  longs @20 :List(Int64);
  doubles @21 :List(Float64);
  texts @22 :List(Text);
  blobs @23 :List(Data);
  colors @24 :List(Color);
  inners @25 :List(Inner);
  grid @26 :List(List(Int32));
  nothings @27 :List(Void);
  which :union {
    none @28 :Void;
    number @29 :Int32;
    name @30 :Text;
    pair :group { left @31 :Inner; right @32 :UInt8 = 7; }
  }
  union {
    silent @33 :Void;
    loud @34 :Float32;
    zoo @35 :Zoo;
    zoos @36 :List(Zoo);
  }
  box @37 :Box(Text);
}

enum Color { red @0; green @1; blue @2; }

struct Inner {
  id @0 :UInt32;
  label @1 :Text;
  more @2 :List(Inner);
  small @3 :Bool = true;
}

struct Box(T) { value @0 :T; }

struct Anything { any @0 :AnyPointer; after @1 :Text; }

struct Node { next @0 :Node; voids @1 :List(Void); texts @2 :List(Text); id @3 :UInt64; nodes @4 :List(Node); }
