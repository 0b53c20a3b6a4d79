/** References to objects in both directions, which only Dovetail's own wire carries: other compilers cannot read this. */

namespace rs things

/** Why there is no counter. */
exception Refused {
  1: string why
}

/** A number that can be changed. */
service Counter {
  /** The sum, from then on. */
  i64 add(1: i64 number)

  /** Another counter, with the same number. */
  Counter fork()

  /** Adds, and says nothing. */
  oneway void bump(1: i64 number)

  /** The numbers from its own up to this one. */
  stream<i64> count(1: i64 to)

  /** Adds all of them, and gives the sum. */
  sink<i64, i64> add_all()
}

/** Two counters, one of which may be missing. */
struct Pair {
  1: Counter left
  2: optional Counter right
}

/** What a caller passes. */
service Listener {
  /** How many it has heard. */
  i32 hear(1: string text)

  /** A counter of the listener's. */
  Counter tally(1: i64 start)
}

service Counters {
  /** A counter that begins there. Refuses numbers below zero. */
  Counter open(1: i64 start) throws (1: Refused refused)

  /** Several, from 0. */
  list<Counter> several(1: i32 count)

  /** Two of them, and the sum of what was passed: counters that come home. */
  Pair swap(1: Pair pair)

  /** The sum of what was heard. */
  i32 tell(1: Listener listener, 2: list<string> texts)

  /** What was passed, which so comes home. */
  Listener same(1: Listener listener)

  /** Adds to what the listener returns, without waiting for it. */
  i64 count_on(1: Listener listener)

  /** The sum of what the counter counts up to 10. */
  i64 count_up(1: Counter counter)
}
