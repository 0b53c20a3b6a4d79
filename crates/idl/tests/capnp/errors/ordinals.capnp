@0xb3a9d8f1c26e4718;
struct A { a @0 :Text; b @2 :Text; c @2 :Text; }
enum B { a @1; }
interface C { a @0 (); b @0 (); }
struct D { u :union { a @0 :Text; } g :group { } }
struct E { union { a @0 :Text; b @1 :Text; } union { c @2 :Text; d @3 :Text; } }
