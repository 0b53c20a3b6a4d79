struct A extends B {}
struct B extends A {}
