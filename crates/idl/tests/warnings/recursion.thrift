struct Node {
  1: i32 value
  2: Node next
}

struct A {
  1: B b
}

struct B {
  1: required A a
}
