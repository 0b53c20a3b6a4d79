union U { 1: i32 a, 2: string b }

const U NONE = {}
const U BOTH = {"a": 1, "b": "x"}
