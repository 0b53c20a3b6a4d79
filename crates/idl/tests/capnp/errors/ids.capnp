@0x1234;
struct A @0xb3a9d8f1c26e4715 {}
struct B @0xb3a9d8f1c26e4715 {}
