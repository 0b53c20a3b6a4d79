// In a comment, as in "café", nobody minds.
const string COFFEE = "café"
const string TEA = "thÃ©"
