struct Person {
  name: string
  2: i32 age
}
