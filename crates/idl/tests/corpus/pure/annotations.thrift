typedef string (kind = "email") Email (validated)
typedef list<i32 (small)> (sorted = "yes") Sorted (a = "b";c = "d",e)
struct S {
  1: i32 a (min = "0", max = "10")
  2: string (inner = "x") b (outer = "y")
  3: i32 c = 5 (after.default = "z")
  4: i32 d ()
} (cpp.type = "X", java.final, deprecated = "gone soon")
union U { 1: i32 a (x) } (y)
exception E { 1: string message } (message = "message")
enum Color { RED (hex = "#f00"), GREEN = 3 (hex = "#0f0") } (scoped)
service Svc {
  void plain() (a = "b")
  i32 thrown(1: i32 a (p)) throws (1: E e (q)) (r = "s"),
  string (result = "annotated") annotated()
} (t = "u")
