union Empty {}
union U { 1: i32 a; 2: optional string b; 3: list<U> c = [] }
exception Empty2 {}
exception Full { 1: required i32 code, 2: optional string message, 3: U detail }
struct Holds { 1: Full full, 2: U u }
