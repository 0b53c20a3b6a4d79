struct S {
  reserved 3, 5 to 9, "old_name", "older";
  reserved 100 to 200
  1: i32 a
  reserved "x" 2: i32 b
  reserved 20, 30, 4: i32 c
}
union U { reserved 1; 2: i32 a }
enum E { reserved 2, 10 to 20, "GONE"; A = 1, B = 3 }
exception X { reserved 1, 2; 3: string message }
