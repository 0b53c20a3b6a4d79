/** What happens, when, and what it costs. */

struct Event {
  1: string name
  2: timestamp at
  3: date day
  4: duration length = "PT1H"
  5: decimal price
  6: array<double, 2> place
}

service Agenda {
  Event upcoming(1: timestamp_tz after, 2: duration within = "P1D")
  array<i32, 2, *> table(1: array<i32, *, *> rows)
  dynamic anything(1: dynamic value)
  any wrapped(1: any message)
}
