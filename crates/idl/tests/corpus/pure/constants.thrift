include "include/shared.thrift"

enum Color { RED = 1, GREEN = 2, BLUE = 4 }
typedef Color Colour
typedef i32 Meters
struct Point { 1: required i32 x, 2: i32 y = 7, 3: optional Color color = Color.RED }
union Choice { 1: i32 number, 2: string text }
exception Oops { 1: string why, 2: i32 code }

const i32 BASE = 10
const i32 AGAIN = BASE
const Meters HEIGHT = BASE
const double REAL = 2.5
const Color FAVOURITE = Color.GREEN
const Color BY_NUMBER = 4
const i32 AS_NUMBER = Color.BLUE
const shared.Kind KIND = shared.Kind.SECOND
const shared.Kind KIND_BY_NUMBER = 1
const i32 FROM_AFAR = shared.LIMIT
const i32 VALUE_FROM_AFAR = shared.Kind.SECOND
const list<i32> NUMBERS = [1, BASE, Color.RED, shared.LIMIT]
const set<string> WORDS = ["a", 'b']
const map<string, list<Color>> NESTED = {"warm": [Color.RED], "cold": [Color.BLUE, 2], "none": []}
const map<Color, string> NAMES = {Color.RED: "red", 2: "green"}
const Point ORIGIN = {"x": 0, "y": 0}
const Point PARTIAL = {"x": 1}
const list<Point> PATH = [{"x": 1}, {"x": 2, "color": Color.GREEN}]
const map<i32, Point> BY_ID = {1: {"x": BASE}}
const Choice PICK = {"text": "hello"}
const Oops FAILURE = {"why": "because", "code": -1}
const map<Point, i32> KEYED = {{"x": 1}: 1, {"x": 2}: 2}

struct Defaults {
  1: i32 a = BASE
  2: Color b = Color.GREEN
  3: list<i32> c = [BASE, 2]
  4: map<string, i32> d = {"x": 1}
  5: Point e = {"x": 5}
  6: bool f = true
  7: double g = 3
  8: optional string h = "text"
  9: set<i32> i = []
  10: map<i32, i32> j = {}
  11: shared.Kind k = shared.Kind.FIRST
}
