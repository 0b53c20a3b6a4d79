include "animals.thrift"

namespace rs zoo

/** Seven lives. */
struct Cat extends animals.Animal {
  4: i32 lives = 7
  5: animals.Animal prey = {"name": "Jerry"}
  6: animals.Dog enemy
  7: string base
}

struct Cage {
  1: animals.Animal inmate
  2: map<string, animals.Animal> more
  3: required animals.Dog dog = {"name": "Rex", "breed": "Collie", "fooBar": "x"}
  4: animals.Puppy puppy
}

union Choice {
  1: animals.Animal animal
  2: i32 none
}

typedef animals.Animal Beast

const Beast FIRST = {"name": "Adam"}
const animals.Puppy LAST = {"name": "Eve", "weeks": 3, "breed": "x"}

exception Trouble {
  1: string message
}

exception Bite extends Trouble {
  2: i32 depth
}

exception Escape extends Trouble {
  2: Beast fugitive
}

service Zoo {
  Beast feed(1: Beast animal, 2: list<animals.Dog> dogs) throws (1: Trouble trouble, 2: Escape escape)
  void close() throws (1: Trouble first, 2: Trouble second)
}
