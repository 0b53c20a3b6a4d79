service Cursor {}
struct S {
  1: map<Cursor, i32> a
  2: set<dynamic> b
  3: list<map<any, i32>> c
}
typedef set<Cursor> Cursors
