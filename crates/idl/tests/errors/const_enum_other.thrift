enum Color { RED }
enum Size { BIG }

const Color A = Size.BIG
