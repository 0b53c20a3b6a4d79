exception Closed {}
service Cursor {
  readonly i64 position()
  list<binary> read(1: i32 count) throws (1: Closed closed)
}
struct Session { 1: string user, 2: Cursor cursor, 3: list<Cursor> others }
service Files {
  Cursor open(1: string path)
  void watch(1: Watcher watcher)
  stream<Cursor> all()
  map<string, Cursor> by_name()
}
service Watcher extends Cursor { oneway void changed(1: string path) }
