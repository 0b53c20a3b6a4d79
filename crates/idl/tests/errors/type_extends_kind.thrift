exception E {}
enum N { X }
struct A extends E {}
struct B extends N {}
exception F extends A {}
