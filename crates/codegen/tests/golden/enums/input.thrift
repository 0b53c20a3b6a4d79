namespace rs enums

/** Colours, with a gap and a negative number. */
enum Colour {
  /** Below zero. */
  INFRARED = -1
  RED = 0
  GREEN
  BLUE = 20
  ULTRAVIOLET = 2147483647
}

enum Odd {
  camelCase = 1
  lower = 2
  name = 3
  VALUES = 4
  Self = 5
  type = 6
}

enum Nothing {
}

struct Painted {
  1: Colour colour = Colour.GREEN
  2: map<Colour, Odd> odd
}

const Colour FAVOURITE = 20
