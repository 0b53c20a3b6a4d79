@0xb3a9d8f1c26e471a;
struct S {}
interface A extends(B) {}
interface B extends(A) {}
interface C extends(S) { m @0 Int32 -> A; }
