const list<i32> A = [1, 2
const map<string, i32> B = {"a" 1}
