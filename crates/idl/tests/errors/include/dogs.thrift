struct Animal {}

struct Dog extends Animal {}
