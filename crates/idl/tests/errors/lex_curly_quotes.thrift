const string GREETING = “hello”
