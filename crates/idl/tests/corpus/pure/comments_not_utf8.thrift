// Café, in the encoding of another time.
/** thé */
struct Cup {
  1: i32 size # décilitres
}
