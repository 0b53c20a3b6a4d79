@0xe0c1b7f3a95d2846;
# Structs whose fields are given out from holes, in unions and groups, in every order that matters.

struct Holes {
  a @0 :Bool;
  b @1 :UInt8;
  c @2 :Bool;
  d @3 :UInt16;
  e @4 :UInt32;
  f @5 :Bool;
  g @6 :UInt64;
  h @7 :UInt8;
  i @8 :UInt16;
  j @9 :UInt32;
  k @10 :UInt32;
  l @11 :Bool;
  m @12 :Text;
  n @13 :UInt8;
}

struct Retroactive {
  # The first member of a union keeps its place; the tag comes before the second one.
  union {
    first @0 :UInt32;
    second @3 :UInt64;
    third @5 :Text;
    fourth @6 :Bool;
  }
  other @1 :UInt16;
  text @2 :Text;
  late @4 :UInt16;
}

struct Groups {
  union {
    small :group {
      a @0 :UInt8;
      b @1 :Bool;
      c @2 :Bool;
    }
    large :group {
      a @3 :UInt16;
      b @4 :UInt32;
      c @5 :Text;
      d @6 :Text;
      e @7 :UInt64;
      f @8 :UInt8;
    }
    mixed :group {
      a @9 :Bool;
      b @10 :UInt64;
      c @11 :UInt64;
      d @12 :UInt16;
      e @13 :Bool;
      f @14 :Data;
      g @15 :UInt32;
      h @16 :UInt32;
      i @17 :UInt8;
    }
  }
}

struct Nested {
  head @0 :UInt16;
  outer :union {
    nothing @1 :Void;
    inner :union {
      void @2 :Void;
      small @3 :UInt8;
      wide @4 :UInt64;
      text @5 :Text;
    }
    group :group {
      a @6 :UInt32;
      b :union {
        x @7 :UInt16;
        y @8 :UInt32;
        z @9 :Text;
        none @10 :Void;
      }
      c @11 :Bool;
    }
    last @12 :List(Nested);
  }
  tail @13 :UInt8;
  more :group {
    p @14 :UInt8;
    union {
      q @15 :Bool;
      r @16 :UInt16;
    }
    s @17 :UInt32;
  }
}

struct Expanding {
  # Places in a union grow where what follows them is free.
  union {
    a @0 :UInt8;
    b :group {
      x @1 :UInt8;
      y @2 :UInt8;
      z @3 :UInt16;
    }
    c @4 :UInt32;
    d :group {
      x @5 :UInt8;
      y @6 :UInt32;
      z @7 :UInt8;
      w @8 :UInt16;
    }
    e :group {
      x :union {
        p @9 :UInt8;
        q @10 :UInt8;
      }
      y :union {
        p @11 :UInt16;
        q @12 :UInt32;
        r @13 :UInt64;
      }
    }
  }
}

struct Bits {
  union {
    a :group { x @0 :Bool; y @1 :Bool; z @2 :UInt8; }
    b :group { x @3 :UInt8; y @4 :Bool; z @5 :Bool; w @6 :UInt16; }
    c :group { x @7 :Bool; y @8 :UInt16; z @9 :Bool; w @10 :UInt8; v @11 :UInt32; }
  }
  d @12 :Bool;
  e @13 :Bool;
}
