@0xb3a9d8f1c26e471b;
struct P { x @0 :Int32; u :union { a @1 :Text; b @2 :Bool; } any @3 :AnyPointer = 0x"00"; }
const a :Int8 = 128;
const b :UInt64 = -1;
const c :Text = 5;
const d :P = (z = 1);
const e :P = (u = (a = "x", b = true));
const f :P = (x = 1, x = 2);
const g :List(Int32) = ["a"];
const h :Int32 = .i;
const i :Int32 = .h;
const j :Bool = 1;
const k :Data = embed "file";
const l :P = 5;
const m :Float32 = "x";
const n :Text = .a;
const o :P = (1, 2);
const p :Text = P;
const q :Int32 = 1.5;
