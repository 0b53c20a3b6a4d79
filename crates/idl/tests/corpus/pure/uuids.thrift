# apache: uuid came after 0.17
typedef uuid Id
const uuid A = "00112233-4455-6677-8899-aabbccddeeff"
const Id B = "{00112233-4455-6677-8899-AABBCCDDEEFF}"
const list<uuid> IDS = [A, B, "ffffffff-ffff-ffff-ffff-ffffffffffff"]
struct S { 1: uuid id = A, 2: map<uuid, uuid> pairs, 3: optional uuid maybe }
