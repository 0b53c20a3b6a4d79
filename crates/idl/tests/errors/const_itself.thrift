const list<i32> A = A
