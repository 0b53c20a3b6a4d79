const set<i32> A = [1, 2, 1]
const list<i32> B = [1, 1]
const set<i32> C = B
