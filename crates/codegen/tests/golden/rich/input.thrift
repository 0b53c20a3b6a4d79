namespace rs rich

/** The last moment of the year. */
const timestamp LAST = "2026-12-31T23:59:59.999999999Z"
const timestamp_tz BERLIN = "2026-11-20T23:47:36+01:00"
const date BIRTHDAY = "1969-02-28"
const duration TIMEOUT = "-PT0.25S"
const decimal PRICE = 19.90
const decimal LARGE = "-79228162514264337593543950335"
const list<date> HOLIDAYS = ["2026-12-25", "2027-01-01"]
const map<decimal, duration> TARIFF = {"0.50": "PT30M", "2": "P1D"}
const array<i32, 2, 3> FIXED = [[1, 2, 3], [4, 5, 6]]
const array<i32, *, *> FREE = [[1, 2, 3], [4, 5, 6]]

/** A field of each type. */
struct Rich {
  1: timestamp instant
  2: timestamp_tz local
  3: date day
  4: duration span
  5: decimal price
  6: any anything
  7: dynamic value
  8: optional date until
  9: required timestamp since
}

/** One that can be compared. */
struct Entry {
  1: date day = "2026-11-20"
  2: optional duration span = "PT1.5S"
  3: decimal price = "-12.50"
  4: timestamp at = "1969-12-31T23:59:59.5Z"
  5: any what
  6: array<decimal, 2> range = [0, 1]
}

struct Keys {
  1: map<timestamp, string> by_instant
  2: set<date> days
  3: map<decimal, list<duration>> by_price
  4: set<array<double, 2>> points
  5: map<timestamp_tz, array<i8, *, *>> by_local
}

typedef array<double, 3> Point
typedef array<i16, *, *> Image

struct Arrays {
  1: Point point = [1.0, 0.5, 0]
  2: array<float, 3, 3> matrix
  3: array<string, *> names
  4: array<Point, *, 2> lines
  5: Image image = [[1, 2], [3, 4]]
  6: array<i64, 2, *, 3> mixed
  7: optional array<Point, *, 2, *> far
  8: array<dynamic, *, *, *> empty = []
}

const array<i8, 40> LONG = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
  21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40
]

struct Long {
  1: array<float, 1000> embedding
  2: array<bool, 20, 20> board
  3: array<string, *, 100, 2> pages
  4: set<array<double, 33>> keys
}

/** Contains itself, in an array of two. */
struct Pair {
  1: optional array<Pair, 2> parts
  2: i32 number
}

union Either {
  1: timestamp when
  2: array<Either, 2> both
  3: dynamic value
}

exception Late {
  1: date day
}

service Clock {
  timestamp now(1: timestamp_tz here, 2: duration ahead = "PT1S", 3: optional date day)
  array<double, *, *> multiply(1: array<double, *, *> a, 2: array<double, 4, 4> b, 3: array<Point, *> c)
  dynamic echo(1: dynamic value, 2: any more) throws (1: Late late)
}
