const i64 BIG = 5000000000
const i32 A = BIG
const string NAME = "x"
const i32 B = NAME
const list<i64> WIDE = [1, 5000000000]
const list<i32> NARROW = WIDE
