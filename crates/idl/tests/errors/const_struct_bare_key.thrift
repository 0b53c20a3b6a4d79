struct Point { 1: i32 x, 2: i32 y }

const Point P = {x: 1, 2: 3}
