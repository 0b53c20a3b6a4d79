/** What was paid. */
struct Entry {
  /** Negative where it was paid back. */
  1: i64 cents
  2: u32 hash = 7
  3: string currency = "EUR"
  4: list<list<i8>> places = [[1], []]
  5: date day = "2026-11-20"
  6: decimal rate = "1.50"
}

/** All that was paid. */
service Ledger {
  /** Those of a day. */
  idempotent list<Entry> entries(1: required string account, 3: optional i32 limit = 100, 4: string currency = "EUR")
}
