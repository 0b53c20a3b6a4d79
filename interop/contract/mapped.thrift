/** A contract of Thrift's as gRPC's clients and servers have it: mapped.proto is the same for them. */

namespace rs mapped

/** Two numbers. */
struct Pair {
  1: i32 left
  2: i32 right
}

/** Declared, so a detail of the status. */
exception Refused {
  1: string why
  2: i32 count
}

/** Declared as well. */
exception Missing {
  1: string what
}

service Mapped {
  /** The sum. */
  i32 add(1: i32 left, 2: i32 right)

  /** So many pairs of a number and its square. */
  list<Pair> pairs(1: i32 count)

  /** How long each word is. */
  map<string, i32> lengths(1: list<string> words, 4: bool doubled)

  /** The pair turned round. */
  Pair turn(1: Pair pair)

  /** Does nothing. */
  void nothing()

  /** Throws what is asked for. */
  i32 fail(1: string how) throws (1: Refused refused, 3: Missing missing)

  /** Says what it will do, and counts; `Missing` ends it there, unless that is negative. Refuses to count below zero. */
  string, stream<i32 throws (1: Missing missing)> count(1: i32 to, 2: i32 missing_at) throws (1: Refused refused)

  /** Numbers from 0, and nothing else. */
  stream<i32> numbers(1: i32 to)

  /** The sum of the items and of what it begins with. */
  sink<i32, i64> sum(1: i64 start)

  /** Every pair turned round. */
  sink<Pair>, stream<Pair> turn_all()
}
