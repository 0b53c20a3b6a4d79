enum Color { RED, GREEN }

const i32 LIMIT = 10
const i32 A = LIMTI
const Color B = RED
const i32 C = Color.BLEU
const Color D = Color.GREN
const i32 E = nowhere.X
