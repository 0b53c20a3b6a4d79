struct Animal {
  32764: string name
  32765: i32 legs
}

struct Dog extends Animal {
  32767: string breed
}

struct Node {
  1: optional ref Leaf leaf
  32766: i32 free
}

struct Leaf {
  32766: i32 taken
}
