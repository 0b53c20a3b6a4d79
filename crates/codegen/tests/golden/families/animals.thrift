namespace rs zoo.animals

/** What lives. */
struct Animal {
  1: string name = "nobody"
  2: i32 legs
  3: optional Animal mate
}

struct Dog extends Animal {
  4: string breed = "mongrel"
  5: string fooBar
}

struct Puppy extends Dog {
  /** Since it was born. */
  6: required i8 weeks
  7: list<Animal> littermates
  8: double foo_bar
}
