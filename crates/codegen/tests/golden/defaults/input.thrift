namespace rs defaults

enum Level {
  LOW = 1
  HIGH = 2
}

struct Origin {
  1: string host
  2: i16 port = 9090
}

union Choice {
  1: i32 number
  2: string text
}

struct Defaults {
  1: bool truth = true
  2: i32 number = -7
  3: double real = 3.14159
  4: string text = "six \"quoted\" \\ and\na line"
  5: binary blob = "bytes"
  6: Level level = Level.HIGH
  7: list<i32> numbers = [1, 2, 3]
  8: map<string, i32> counts = {"one": 1, "two": 2}
  9: set<string> words = ["alpha", "beta"]
  10: Origin origin = {"host": "localhost"}
  11: optional i32 may = 5
  12: optional string may_text
  13: required i64 must
  14: Choice choice = {"text": "chosen"}
  15: list<Origin> origins = [{"host": "a", "port": 1}, {"host": "b"}]
  16: uuid id = "00112233-4455-6677-8899-aabbccddeeff"
  17: float single = 0.1
  18: string empty = ""
}

const bool YES = true
const i8 TINY = -128
const i64 SMALLEST = -9223372036854775808
const u64 LARGEST = 18446744073709551615
const double PI = 3.141592653589793
const double HUGE = 1e300
const float HALF = 0.5
const string GREETING = "Grüße, 世界 🚀"
const binary MAGIC = "DOVE"
const uuid NIL = "00000000-0000-0000-0000-000000000000"
const Level LEVEL = Level.LOW
const i32 SMALLNUMBER = 3
const i32 SAME = SMALLNUMBER
const list<i32> PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73]
const list<string> WORDS = ["a first word that is long", "a second one", "a third one, so that they do not fit"]
const map<string, list<i32>> TABLE = {"one": [1], "two": [1, 2], "three": []}
const map<i32, Origin> ORIGINS = {1: {"host": "first", "port": 80}}
const Origin HOME = {"host": "127.0.0.1", "port": 80}
const Choice CHOSEN = {"number": 7}
const list<list<Origin>> GRID = [[{"host": "a"}], []]
const map<string, string> A_CONSTANT_WITH_A_VERY_LONG_NAME_INDEED = {"a key": "and a value"}
const list<double> EMPTY = []

service Search {
  list<string> find(1: string text, 2: i32 limit = 10, 3: Level level = Level.HIGH)
}
