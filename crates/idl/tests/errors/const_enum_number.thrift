enum Color { RED = 1, GREEN = 2 }

struct S {
  1: Color c = 3
}
