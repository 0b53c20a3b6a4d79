/** A server that hostile peers attack: other compilers cannot read this. */

namespace rs targets

/** The smallest map: one entry of it costs a decoder much more than a sender. */
struct Entry {
  1: map<string, i64> counts
}

/** A node of a chain. */
struct Link {
  1: i64 number
  2: ref Link after
}

/** A method for each shape of message that attackers abuse. */
service Target {
  /** What polite callers ask meanwhile. */
  i32 ping()

  /** The number of entries. */
  i64 entries(1: list<Entry> list)

  /** Takes a value of any shape. */
  void value(1: dynamic value)

  /** Takes bytes. */
  i64 size(1: binary blob)

  /** The number of nodes. */
  i64 chain(1: Link first)

  /** Waits until its caller has gone. */
  void wait()

  /** Takes items and never reads them. */
  sink<binary, i64> ignore()
}
