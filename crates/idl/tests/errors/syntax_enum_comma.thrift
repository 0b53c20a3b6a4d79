enum E {
  A = 1.5
  B = "two"
  C
}
