@Rnage{min = 5}
struct S {}

struct Range { 1: i64 min }
