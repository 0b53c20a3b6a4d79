const u64 BIG = 18446744073709551615
const u8 BYTE = 0xff
const float F = 1.5
const decimal PRICE = 19.990
const decimal WHOLE = 5
const decimal TEXT = "-12345678901234567890.123456789"
const date DAY = "2026-11-20"
const timestamp AT = "2026-11-20T22:47:36.123456789Z"
const timestamp_tz LOCAL = "2026-11-20T23:47:36+01:00"
const duration WAIT = "PT1.5S"
const array<i32, 3> THREE = [1, 2, 3]
const array<double, 2, 2> IDENTITY = [[1, 0], [0, 1]]
const array<i32, *, *> LOOSE = [[1, 2], [3, 4], [5, 6]]
struct S {
  1: duration timeout = "PT30S"
  2: array<float, 2> origin = [0, 0]
  3: u32 mask = 0xffffffff
}
