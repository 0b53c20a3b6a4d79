@0xb3a9d8f1c26e4717;
struct A { a @0 :Missing; b @1 :text; c @2 :A.B; d @3 :a; f @4 :value; e @5 :Text(A); }
struct A {}
const value :Int32 = 1;
using Loop = Pool;
using Pool = Loop;
using Five = 5;
struct F { a @0 :Text; a @1 :Text; }
