const i32 A
const i32 B = 
const i32 C = 3
