/** An account: money is what one does not want to lose with a connection. */

namespace rs account

exception Overdrawn {
  1: i64 missing
  2: string message
}

service Account {
  /** Puts money in; returns the balance. */
  i64 deposit(1: i64 cents)

  /** Takes money out; returns the balance. */
  i64 withdraw(1: i64 cents) throws (1: Overdrawn overdrawn)

  /** Twice is as good as once: a client may ask again by itself. */
  idempotent i64 balance()

  /** Writes something into the book; nobody answers. */
  oneway void note(1: string text)

  /** What stands in the book. */
  list<string> notes()
}
