enum Empty {}
enum Implicit { ZERO, ONE, TWO }
enum Jump { A = 5, B, C = 10, D }
enum Negative { LOW = -2147483648, MINUS = -1, ZERO, HIGH = 2147483647 }
enum Hex { A = 0x10, B, C = 0x7fffffff }
enum Annotated {
  A = 1 (note = "x"),
  B (deprecated = "use A")
  C = 3 (a, b = "c");
} (whole = "enum")
enum Aliased { A = 1, B = 2 }
