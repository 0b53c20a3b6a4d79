@0xb3a9d8f1c26e471c;
@0xb3a9d8f1c26e471d;
struct A { a @70000 :Text; }
using "no";
struct B { b @0x10000000000000000 :Text; union }
