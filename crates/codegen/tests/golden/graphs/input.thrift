namespace rs graphs

struct Node {
  1: string name
  2: ref Node parent
  3: list<Link> children
}

struct Link {
  1: required ref Node to
  2: double weight
}

struct Leaf extends Node {
  4: optional ref Leaf self
  5: timestamp fallen
}

struct Forest {
  1: array<Link, 2> pair
  2: array<Node, *, *> grid
  3: any tallest
}

union Target {
  1: ref Node node
  2: string name
}

const Link NOWHERE = {"to": {"name": "nowhere"}, "weight": 0.5}

service Graphs {
  Link walk(1: ref Node from, 2: Target target)
}
