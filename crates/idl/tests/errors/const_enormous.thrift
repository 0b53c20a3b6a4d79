const list<i32> L0 = [1,2,3,4,5,6,7,8,9,10]
const list<list<i32>> L1 = [L0,L0,L0,L0,L0,L0,L0,L0,L0,L0]
const list<T1> L2 = [L1,L1,L1,L1,L1,L1,L1,L1,L1,L1]
const list<T2> L3 = [L2,L2,L2,L2,L2,L2,L2,L2,L2,L2]
const list<T3> L4 = [L3,L3,L3,L3,L3,L3,L3,L3,L3,L3]
const list<T4> L5 = [L4,L4,L4,L4,L4,L4,L4,L4,L4,L4]
const list<T5> L6 = [L5,L5,L5,L5,L5,L5,L5,L5,L5,L5]
const list<T6> L7 = [L6,L6,L6,L6,L6,L6,L6,L6,L6,L6]
const list<T7> L8 = [L7,L7,L7,L7,L7,L7,L7,L7,L7,L7]
typedef list<list<i32>> T1
typedef list<T1> T2
typedef list<T2> T3
typedef list<T3> T4
typedef list<T4> T5
typedef list<T5> T6
typedef list<T6> T7
typedef list<T7> T8
