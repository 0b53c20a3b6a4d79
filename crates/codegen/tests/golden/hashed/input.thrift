namespace rs hashed

typedef map<string, i32> Counts

/** A key: what it contains has to be comparable. */
struct Key {
  1: set<i32> numbers
  2: Counts counts
  3: double weight
}

struct Hashed {
  1: map<Key, Counts> by_key
  2: set<set<i32>> groups
  3: map<map<string, i32>, double> nested = {{"a": 1}: 0.5}
  4: set<Counts> all
}

struct Outer {
  1: list<Hashed> inner
}

struct Plain {
  1: i32 number
}

const set<string> WORDS = ["alpha"]
const Counts COUNTS = {"one": 1}
