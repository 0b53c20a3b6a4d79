@0xb3a9d8f1c26e4716;
using import "missing.capnp".Missing;
struct A { a @0 :Missing; }
