@0xb3a9d8f1c26e4719;
struct Box(T) { value @0 :T; }
struct Grows(T) { more @0 :Grows(List(T)); }
struct Uses {
  a @0 :Box(Int32);
  b @1 :Box(Text, Text);
  c @2 :List;
  d @3 :List(Text, Text);
  e @4 :Grows(Text);
  f @5 :Uses(Text);
}
