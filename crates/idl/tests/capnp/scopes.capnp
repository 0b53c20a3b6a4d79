@0xc74e19ab0d3f8652;
# Names from here, from around here, and from elsewhere.

using Values = import "values.capnp";
using import "values.capnp".Point;
using Dovetail = import "/dovetail/options.capnp";
using Cxx = import "/capnp/c++.capnp";

$Cxx.namespace("scopes::v1");

struct Outer {
  # The struct around others.

  inner @0 :Inner;
  # Documented behind it.

  point @1 :Point;
  color @2 :Values.Color = blue;
  deep @3 :Inner.Deep;
  other @4 : .Other;  # on the line itself
  group :group {
    structure @5 :Text;
    united @6 :Bool;
    kind @7 :Alias;
  }

  using Alias = Values.Color;
  const size :UInt32 = 3;

  struct Inner {
    deep @0 :Deep;
    outer @1 :Outer;
    size @2 :UInt32 = Outer.size;
    struct Deep { inner @0 :Inner; }
  }
  interface Watcher { changed @0 (outer :Outer); }
}

struct Other { watcher @0 :Outer.Watcher; kinds @1 :List(Kind); enum Kind { one @0; two @1; } }

interface Service $Dovetail.permission("service") {
  read @0 (id :UInt64) -> (outer :Outer) $Dovetail.readOnly;
  write @1 (outer :Outer) $Dovetail.permission("write") $Dovetail.idempotent;
  watch @2 (watcher :Outer.Watcher) -> (handle :Capability);
}
