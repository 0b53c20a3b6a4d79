struct A {}
struct B {
  1: name_own_file.A a
}
