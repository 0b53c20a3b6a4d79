namespace rs containers

struct Point {
  1: i32 x
  2: i32 y
}

typedef list<map<i32, string>> Pages

struct Containers {
  1: list<bool> truths
  2: set<string> words
  3: map<string, i32> counts
  4: map<Point, list<Point>> points
  5: optional list<binary> blobs
  6: Pages pages
  7: map<string, map<string, map<string, map<string, list<list<set<i64>>>>>>> a_field_with_a_long_name
}

typedef map<string, map<string, map<string, map<string, list<list<set<i64>>>>>>> AnAliasOfALongType

service Store {
  map<string, list<map<i32, string>>> echo(1: map<string, list<map<i32, string>>> value)
  list<Point> all() (rust.arc)
  void put(1: string key, 2: list<Point> points, 3: set<i32> numbers, 4: Pages pages, 5: binary blob)
}
