@0x9f3c5d2b7e81a604;
# Everything that Cap'n Proto's language can say.

const limit :UInt32 = 100;
const home :Address = (street = "Main", number = 1);

enum Color { red @0; green @1; blue @2; }

struct Address {
  # A place.

  street @0 :Text;
  number @1 :UInt16 = 1;
  # The number of the house.
  const top :Int8 = 5;
}

struct Person {
  name @0 :Text;
  age @1 :UInt8;
  address @2 :Address;
  friends @3 :List(Person);
  photo @4 :Data;
  color @5 :Color = green;
  anything @6 :AnyPointer;
  employment :union {
    none @7 :Void;
    employer @8 :Text;
    school :group { name @9 :Text; year @10 :Int32; }
  }
  birth :group { day @11 :UInt8; month @12 :UInt8; }
  union {
    email @13 :Text;
    phone @14 :Phone;
    silent @15 :Void;
  }
  ratio @16 :Float64 = inf;
  lists @17 :List(List(Bool));
  book @18 :Map(Text, Person);
  watcher @19 :Watcher;

  struct Phone { number @0 :Text; kind @1 :Kind; enum Kind { mobile @0; work @1; } }
}

struct Map(Key, Value) {
  entries @0 :List(Entry);
  struct Entry { key @0 :Key; value @1 :Value; }
}

struct Shape {
  union {
    circle @0 :Float64;
    square @1 :Float64;
    nothing @2 :Void;
    named :group { name @3 :Text; sides @4 :UInt8 = 3; }
  }
}

interface Watcher { changed @0 (person :Person) -> (); }

interface Directory extends(Base, Store(Person)) {
  find @0 (name :Text, limit :UInt32 = 10) -> (person :Person);
  all @1 () -> (people :List(Person), more :Bool);
  shape @2 Shape -> Shape;
  send @3 (part :Data) -> stream;
  watch @4 (watcher :Watcher) -> (handle :Watcher);
}

interface Base { ping @0 (); }
interface Store(T) { put @0 (value :T) -> (old :T); }
