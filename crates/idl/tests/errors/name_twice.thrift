struct A {}
enum A { X }
service A {}
const i32 B = 1
const i32 B = 2
