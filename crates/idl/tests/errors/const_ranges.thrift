const i8 A = 128
const i16 B = -32769
const i32 C = 0x80000000
const i64 D = 9223372036854775808
const u8 E = -1
const u64 F = 18446744073709551616
