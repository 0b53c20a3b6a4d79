@0xb3a9d8f1c26e471e;
using import "unnamed.capnp";
