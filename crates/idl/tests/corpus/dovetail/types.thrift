struct Scalars {
  1: float f
  2: u8 a
  3: u16 b
  4: u32 c
  5: u64 d
  6: timestamp t
  7: timestamp_tz tz
  8: date day
  9: duration wait
  10: decimal price
  11: any message
  12: dynamic value
  13: uuid id
}
struct Arrays {
  1: array<double, 3> vector
  2: array<double, 3, 3> matrix
  3: array<float, *> row
  4: array<i32, *, *, 4> volume
  5: list<array<u8, 16>> hashes
  6: array<list<i32>, 2> lists
}
typedef map<date, list<decimal>> Prices
typedef timestamp Instant
struct Keys { 1: map<u64, i32> a, 2: set<timestamp> b, 3: map<decimal, float> c }
