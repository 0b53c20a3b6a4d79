@0xf61b0d9e84a2c537;

struct Map(Key, Value) {
  entries @0 :List(Entry);
  struct Entry {
    key @0 :Key;
    value @1 :Value;
  }
}

struct Tree(T) {
  value @0 :T;
  children @1 :List(Tree(T));
  inner @2 :Map(Text, Tree(T));
}

struct Uses {
  names @0 :Map(Text, Data);
  trees @1 :Tree(Uses);
  free @2 :Map;
  entry @3 :Map(Text, Uses).Entry;
  lists @4 :Tree(List(Int32));
}

interface Store(T) {
  get @0 (key :Text) -> (value :T);
  all @1 () -> (value :T, count :UInt32);
  inner @2 [U] (u :U) -> (t :T);
}

interface Uses2 extends(Store(Uses), Other) {
  mine @0 (a :Int32 = 3, b :Store(Text)) -> ();
  whole @1 Uses -> Uses;
}

interface Other extends(Third) { other @0 (); }
interface Third { third @0 () -> (x :Int8); }
