namespace py shared
const i32 LIMIT = 100
enum Kind { FIRST = 1, SECOND = 2 }
struct Thing { 1: i32 id, 2: Kind kind = Kind.FIRST }
exception Problem { 1: string what }
service Root { void root() }
