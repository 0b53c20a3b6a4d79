@0xb3a9d8f1c26e4705;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("foo");
const pi :Float64 = 3.25;
const lst :List(Int32) = [1, -2, 3];
const b :Data = 0x"12 34";
annotation foo(struct, field) :Text;
struct Foo(T) $foo("bar") {
  a @0 :T;
  b @1 :List(List(UInt8)) = [[1],[2,3]];
  c @2 :Text = "he\"llo\n";
  g :group { x @3 :Bool = true; y @5 :Bool; }
  union { p @4 :Void; q :group { r @6 :Int16; s @7 :Text; } z @8 :Inner = inner; w @9 :Foo(Data); }
  named :union { n @10 :Int64 = -5; m @11 :Float32 = 1.5e10; }
  using Bar = Inner;
  enum Inner { other @0; inner @1 $foo2("a"); }
  cap @12 :Cap;
  any @13 :AnyPointer;
  st @14 :AnyStruct; al @15 :AnyList; ca @16 :Capability;
  ff @17 :Foo(Text).Baz(Data);
  inf @18 :Float64 = inf; ni @19 :Float32 = -inf; nn @20 :Float64 = nan;
  str @21 :Pt = (x = 3, y = (u = void));
  struct Baz(U) { v @0 :U; w @1: T; }
}
struct Pt { x @0 :Int32; y :union { u @1 :Void; v @2 :UInt64; } }
annotation foo2(*) :Text;
interface Cap extends(Base(Text)) {
  m1 @0 (a :Int32 = 3, b :Text) -> (c :Foo(Text));
  m2 @1 Pt -> Pt;
  m3 @2 () -> ();
  m4 @3 [V] (v :V) -> (w :V);
  m5 @4 ();
}
interface Base(X) { get @0 () -> (x :X); }
