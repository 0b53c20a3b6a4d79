senum Color {
  "red"
  "green"
}

struct S {
  1: Color c
}
