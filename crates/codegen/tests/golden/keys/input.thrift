namespace rs keys

typedef double Metres

/** A key as a whole: its doubles must be comparable. */
struct Place {
  1: double latitude
  2: double longitude
  3: optional Metres height
  4: Area area
  5: list<double> samples = [0.5]
}

/** Part of a key. */
struct Area {
  1: float size
}

/** Not a key. */
struct Journey {
  1: map<Place, double> times
  2: set<double> numbers
  3: map<list<Metres>, Metres> nested
  4: double length
}

union Shape {
  1: double circle
  2: Area area
}

const map<Place, string> NAMES = {{"latitude": 52.5, "longitude": 13.4}: "Berlin"}
const set<Shape> SHAPES = [{"circle": 1.5}]
