struct S {
  1: i32 a
}
/* this never ends
struct T {}
