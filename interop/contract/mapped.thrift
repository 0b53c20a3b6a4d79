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
}
