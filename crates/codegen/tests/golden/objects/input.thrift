namespace rs objects

// Services as types.

exception Closed { 1: string why }

service Cursor {
  i64 position()
  Cursor fork()
  /** Moves on. */
  i64 read(1: i32 count) throws (1: Closed closed)
}

service Watcher extends Notes {
  i32 changed(1: string path, 2: optional Cursor cursor)
}

service Notes {
  oneway void note(1: string text)
}

struct Session {
  1: string user
  2: Cursor cursor
  3: list<Cursor> others
  4: optional Watcher watcher
}

typedef Cursor Position

service Files {
  /** Opens a file. */
  Position open(1: string path) throws (1: Closed closed)
  void watch(1: string path, 2: Watcher watcher)
  map<string, Cursor> by_name(1: list<string> names)
  Session session()
  i32 open_pipelined(1: i32 number)
}
