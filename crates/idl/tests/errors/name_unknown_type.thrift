struct Address {}

struct S {
  1: Adress home
  2: int number
  3: Nowhere other
}
