struct Base {
  1: i32 id
  2: string name
}

struct Derived extends Base {
  1: i32 other
  3: string name
}
