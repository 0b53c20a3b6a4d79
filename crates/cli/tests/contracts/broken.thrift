struct Item {
  1: i32 id
  1: string name
  2: Pice price
}

struct Price {
  1: i64 cents
}
