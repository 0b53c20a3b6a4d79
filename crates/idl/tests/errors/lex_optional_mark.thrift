struct S {
  1: string? name
}
