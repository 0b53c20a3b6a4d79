# apache: constants must be defined before they are used
const i32 FIRST = LATER
const list<i32> USES = [FIRST, LATER, Late.B]
const i32 LATER = 5
struct Early { 1: Late late = Late.B, 2: Later later, 3: i32 number = LATER }
enum Late { A, B }
struct Later { 1: i32 a, 2: list<i32> b = USES }
