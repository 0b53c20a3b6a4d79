typedef B A
typedef list<C> B
typedef A C

struct S {
  1: A a
}
