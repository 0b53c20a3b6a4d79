union A { 1: i32 a }
union B extends A { 2: i32 b }
