/** Streams in every direction, which only Dovetail's own wire carries: other compilers cannot read this. */

namespace rs flows

/** An item with fields of several kinds. */
struct Reading {
  1: i32 number
  2: optional string text
  3: list<double> values
}

/** A reading as a newer client knows it. */
struct NewerReading {
  1: i32 number
  2: optional string text
  3: list<double> values
  4: optional string unit
}

/** Why a stream ended early. */
exception Stopped {
  1: i32 after
}

/** Why a call was not accepted. */
exception Refused {
  1: string why
}

/** A method for each shape of streams. */
service Streams {
  /** Numbers from 0; after so many of them `Stopped`, unless that is negative. Refuses to count below zero. */
  string, stream<i32 throws (1: Stopped stopped)> count(1: i32 to, 2: i32 stop_after) throws (1: Refused refused)

  /** The sum of the items. Refuses after so many of them, unless that is negative. */
  sink<i32 throws (1: Stopped stopped), i64> sum(1: i32 refuse_after) throws (1: Refused refused)

  /** Every item comes back. */
  sink<Reading>, stream<Reading> echo()

  /** Bytes of that size, and then so many items of it. */
  binary, stream<binary> make(1: i32 count, 2: i32 size)

  /** The sizes of all items together. */
  sink<binary, i64> measure()

  /** No item, and no end. */
  stream<i32> wait()

  /** Calls its caller back: the sum of what that counts. */
  i64 gather(1: i32 to)
}

/** The same service as a newer client believes it to be. */
service NewerStreams {
  /** Every item comes back. */
  sink<NewerReading>, stream<NewerReading> echo()
}
