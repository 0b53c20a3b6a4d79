struct Commas { 1: i32 a, 2: i32 b, }
struct Semicolons { 1: i32 a; 2: i32 b; }
struct Nothing { 1: i32 a 2: i32 b }
struct Mixed { 1: i32 a; 2: i32 b, 3: i32 c 4: i32 d }
enum EC { A, B, }
enum ES { A; B; }
enum EN { A B C = 7 D }
typedef i32 T1;
typedef i32 T2,
typedef i32 T3
const i32 C1 = 1;
const i32 C2 = 2,
const list<i32> L1 = [1, 2, 3,]
const list<i32> L2 = [1; 2; 3]
const list<i32> L3 = [1 2 3]
const map<string, i32> M1 = {"a": 1 "b": 2; "c": 3,}
service Methods {
  void a(), void b(); void c()
  void d(1: i32 x 2: i32 y; 3: i32 z,)
}
struct OneLine{1:i32 a}struct Next{1:i32 a}
