const string A = "never closed
const string B = "closed"
