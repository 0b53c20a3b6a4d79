struct Größe {
  1: i32 breite
}
