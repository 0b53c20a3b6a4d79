struct Base {
  1: required Derived d
}

struct Derived extends Base {
  2: i32 x
}
