# The contract of `bench.thrift` for Cap'n Proto.
@0xd0e7a11be9c4f001;

struct Date {
  year @0 :Int32;
  month @1 :Int8;
  day @2 :Int8;
}

struct Mark {
  course @0 :Int16;
  title @1 :Text;
  grade @2 :Float64;
  passed @3 :Bool;
  date @4 :Date;
}

struct Semester {
  number @0 :Int8;
  start @1 :Date;
  marks @2 :List(Mark);
}

struct Student {
  name @0 :Text;
  kind @1 :Int8;
  born @2 :Date;
  semesters @3 :List(Semester);
}

struct Nested {
  small @0 :Int32;
  large @1 :Int64;
}

struct Sample {
  small @0 :Int32;
  large @1 :Int64;
  real @2 :Float64;
  nested @3 :Nested;
}

struct Row {
  id @0 :Int64;
  name @1 :Text;
  born @2 :Text;
  amount @3 :Float64;
  voter @4 :Bool;
  street @5 :Text;
  house @6 :Text;
  city @7 :Text;
  state @8 :Text;
  zip @9 :Text;
}

struct Message {
  id @0 :Int64;
  text @1 :Text;
  payload @2 :Data;
}

interface Bench {
  getAnswer @0 (question :Int32) -> (answer :Int32);
  getBlob @1 (size :Int32) -> (blob :Data);
  getStructs @2 () -> (students :List(Student));
  echoSamples @3 (samples :List(Sample)) -> (samples :List(Sample));
  dbWork @4 (rows :Int32, waitMs :Int32) -> (rows :List(Row));
  process @5 (message :Message) -> (message :Message);
}
