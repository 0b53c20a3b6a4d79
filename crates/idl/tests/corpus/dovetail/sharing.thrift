struct Node {
  1: string name
  2: ref Node parent
  3: optional ref Node first_child
  4: required ref Node root
  5: list<Node> others
}
struct Graph { 1: ref Node start, 2: ref Graph & other }
