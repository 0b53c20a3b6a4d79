const i32 A = B
const i32 B = C
const i32 C = A

struct S {
  1: i32 x = A
}
