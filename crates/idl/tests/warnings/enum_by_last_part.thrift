enum A { X }
enum B { X }
const A C = B.X
const A D = nowhere.X
