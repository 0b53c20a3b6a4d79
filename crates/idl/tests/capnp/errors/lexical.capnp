@0xb3a9d8f1c26e4712;
const a :Text = "open;
const b :Data = 0x"123";
const c :Int32 = 99999999999999999999999;
const d :Text = "\q";
// comment
const e :Text = "\xff";
