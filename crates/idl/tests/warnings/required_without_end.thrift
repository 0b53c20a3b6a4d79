struct Node {
  1: required Node next
}

struct A {
  1: required B b
}

struct B {
  1: required C c
}

struct C {
  1: required A a
  2: optional A fine
  3: list<A> also_fine
}
struct Row { 1: required array<Row, 2, 3> rows 2: required array<Row, 2, *> fine }
