struct P { 1: i32 x }
enum E { V }
const i32 A = "1"
const i32 B = 1.5
const string C = 5
const bool D = "true"
const list<i32> F = {1: 2}
const map<i32, i32> G = [1]
const P H = [1]
const P I = 5
const E J = "V"
const double K = "1.0"
const binary L = [1]
