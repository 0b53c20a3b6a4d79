namespace rs unions

struct Circle {
  1: double radius
}

/** Exactly one of these. */
union Shape {
  /** Round. */
  1: Circle circle
  2: list<double> polygon
  3: string unknown
  4: Shape inverse
  300: i32 self
}

union Empty {
}

struct Drawing {
  1: list<Shape> shapes
  2: optional Shape frame
}
