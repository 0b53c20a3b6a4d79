struct S {
  1: required i32 a
  2: optional i32 b
  3: i32 c
  4: required i32 d = 4
  5: optional i32 e = 5
  6: i32 f = 6
  required string g
  optional string h
}
