@0xb3a9d8f1c26e4711;
struct A { a @0 :Text }
struct B { b @0 :Text; }
enum C { a; }
what is this;
struct D { d :Int32; }
struct E { 'single' }
const f :Int32 = ;
