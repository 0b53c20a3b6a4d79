struct Point { 1: i32 x }

const map<string, list<Point>> M = {
  "a": [{"x": 1}, {"x": "two"}],
  "b": [{"y": 3}]
}
