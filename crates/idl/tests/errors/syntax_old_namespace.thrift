cpp_namespace old.style
py_module older

struct S {
  1: i32 a
}
