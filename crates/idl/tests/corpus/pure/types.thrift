enum E { A }
struct S { 1: i32 a }
union U { 1: i32 a }
exception X { 1: string why }
typedef i64 Id
typedef list<Id> Ids
typedef map<Id, Ids> Table
typedef S Alias
struct All {
  1: bool a1
  2: byte a2
  3: i8 a3
  4: i16 a4
  5: i32 a5
  6: i64 a6
  7: double a7
  8: string a8
  9: binary a9
  10: list<i32> a10
  11: set<string> a11
  12: map<i32, string> a12
  13: E a13
  14: S a14
  15: U a15
  16: X a16
  17: Id a17
  18: Table a18
  19: Alias a19
  20: list<list<set<map<i32, list<string>>>>> a20
  21: map<map<i32, i32>, set<list<i32>>> a21
  22: map cpp_type "std::unordered_map<int, int>" <i32, i32> a22
  23: set cpp_type "std::unordered_set<int>" <i32> a23
  24: list<i32> cpp_type "std::deque<int>" a24
  25: optional S & a25
  26: list<i32 (inner = "1")> (outer = "2") a26
}
