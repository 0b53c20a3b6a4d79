struct S {
  1: i32 a (deprecated)
  2: i32 b (deprecated = "use a")
  @Deprecated 3: i32 c
  @Deprecated{message = "use b"}
  4: i32 d
} (deprecated = "use T")
@Deprecated{message = "no longer needed"}
enum E { A (deprecated = "x"), @Deprecated B }
service T { void f() (deprecated = "use g"), @Deprecated void g() } (deprecated)
