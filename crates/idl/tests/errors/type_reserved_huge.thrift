struct S {
  reserved 5 to 99999999999
}
