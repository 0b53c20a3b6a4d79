struct Unordered { 5: i32 a, 1: i32 b, 32767: i32 c }
struct Without { i32 a, i32 b, string c }
struct Some { 1: i32 a, i32 b, 3: i32 c, i32 d }
struct Hex { 0x10: i32 a, 17: i32 b }
service S { i32 add(i32 a, i32 b) }
