const array<i32, 3> A = [1, 2]
const array<i32, 2, 2> B = [1, 2]
const array<i32, *, *> C = [[1, 2], [3]]
