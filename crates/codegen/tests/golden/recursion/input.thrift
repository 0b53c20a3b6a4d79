namespace rs recursion

struct Tree {
  1: i32 value
  2: list<Tree> children
  3: map<string, Tree> named
}

struct List {
  1: i32 head
  2: optional List tail
}

/** Without `optional`, but it has to end somewhere. */
struct Endless {
  1: i32 value
  2: Endless next
}

struct Even {
  1: optional Odd odd
}

struct Odd {
  1: Even even
}

union Expression {
  1: i32 literal
  2: Binary binary
  3: Expression negated
}

struct Binary {
  1: Expression left
  2: required Expression right
}
