@0xa7603d72ec771dd4;
# Types of other languages, in the words of Cap'n Proto. Dovetail writes this file beside a contract that uses it.

struct Timestamp @0x9054644e736b22d0 {
  # An instant.

  seconds @0 :Int64;
  # Since 1970, in UTC.
  nanoseconds @1 :Int32;
  # 0 to 999,999,999; they count forward.
}

struct TimestampTz @0xf252f9ace158903c {
  # An instant, and where it was seen.

  seconds @0 :Int64;
  nanoseconds @1 :Int32;
  offset @2 :Int32;
  # Seconds ahead of UTC.
}

struct Duration @0xbd2c992d2cad69bc {
  # A span of time.

  seconds @0 :Int64;
  nanoseconds @1 :Int32;
  # They have the sign of the seconds.
}

struct OptionalBool @0xd8c08a96457c4b3b { value @0 :Bool; }

struct OptionalInt8 @0xc187e2fc4324ab62 { value @0 :Int8; }

struct OptionalInt16 @0xe6379065380b5e29 { value @0 :Int16; }

struct OptionalInt32 @0x9c32d80a9d4eadc0 { value @0 :Int32; }

struct OptionalInt64 @0xabd9f5673b07a3de { value @0 :Int64; }

struct OptionalUInt8 @0xf04f00ec206a7af8 { value @0 :UInt8; }

struct OptionalUInt16 @0xd4b2f91324d56a83 { value @0 :UInt16; }

struct OptionalUInt32 @0xd6d4d03e76866a3c { value @0 :UInt32; }

struct OptionalUInt64 @0xce8e58f9feae9cea { value @0 :UInt64; }

struct OptionalFloat32 @0xcc3e30dfb5e247d4 { value @0 :Float32; }

struct OptionalFloat64 @0xe39f70636ebc7e42 { value @0 :Float64; }
