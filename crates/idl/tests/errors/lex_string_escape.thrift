const string A = "a\qb"
const string B = "C:\dir"
