enum Color {
  RED
  GREEN
  RED = 7
}
