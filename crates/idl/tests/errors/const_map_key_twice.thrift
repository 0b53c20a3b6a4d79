const map<string, i32> M = {
  "a": 1,
  "b": 2,
  "a": 3
}
