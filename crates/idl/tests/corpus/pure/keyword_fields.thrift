# apache: keywords as names of fields came after 0.17
struct Keywords {
  1: i32 namespace, 2: i32 cpp_include, 3: i32 include, 4: i32 void, 5: i32 bool
  6: i32 byte, 7: i32 i8, 8: i32 i16, 9: i32 i32, 10: i32 i64, 11: i32 double, 12: i32 string
  13: i32 binary, 14: i32 uuid, 15: i32 map, 16: i32 list, 17: i32 set, 18: i32 oneway
  19: i32 async, 20: i32 typedef, 21: i32 struct, 22: i32 union, 23: i32 exception
  24: i32 extends, 25: i32 throws, 26: i32 service, 27: i32 enum, 28: i32 const
  29: required i32 required, 30: optional i32 optional
}
service S { void f(1: i32 list, 2: list<i32> set) }
