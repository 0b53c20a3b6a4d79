struct Base { 1: i32 id, 2: string name = "x" }
struct Middle extends Base { 3: i32 extra }
struct Leaf extends Middle { 10: list<Base> children }
exception Problem { 1: string message }
exception Deeper extends Problem { 2: i32 depth }
typedef Base Root
struct ByAlias extends Root { 5: i32 x }
const Leaf L = {"id": 1, "extra": 2, "children": [{"id": 2}]}
