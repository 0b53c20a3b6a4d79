struct S { 1: i32 a }

%%%%%%

struct T { 1: i32 b }
