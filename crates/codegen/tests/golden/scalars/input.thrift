namespace rs scalars

/** One field of each type. */
struct Scalars {
  1: bool truth
  2: i8 tiny
  3: i16 small
  4: i32 medium
  5: i64 large
  6: u8 utiny
  7: u16 usmall
  8: u32 umedium
  9: u64 ularge
  10: float single
  11: double real
  12: string text
  13: binary blob
  14: uuid id
}

/** How a field may be absent. */
struct Presence {
  1: required i32 must
  2: optional i32 may
  3: i32 plain
}

struct Empty {
}

typedef i64 Token
typedef Token Ticket

service Echo {
  Scalars echo(1: Scalars value)
  u64 unsigned_sum(1: u8 a, 2: u16 b, 3: u32 c, 4: u64 d, 5: float e, 6: double f, 7: uuid g)
  oneway void forget(1: Ticket ticket)
}
