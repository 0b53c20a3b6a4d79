namespace rs compact

typedef string Name

/** Text in every place. */
struct Person {
  1: required Name name
  2: string title = "Dr."
  3: optional string nickname
  4: list<string> lines
  5: map<string, set<Name>> aliases = {"Bob": ["Robert"]}
}

union Contact {
  1: string phone
  2: Person person
}

exception Unknown {
  1: string message = ""
}

const string GREETING = "hello"
const list<string> WORDS = ["one", ""]

service People {
  Person find(1: Name name, 2: list<string> places) throws (1: Unknown unknown)
  string greet(1: optional string who)
}
