/** What the library of a small town lends: a value of every kind, so that an encoding has work to do. */

namespace rs library

enum Shelf {
  FICTION = 1
  SCIENCE = 2
}

struct Book {
  1: required string title
  2: list<string> authors
  3: Shelf shelf = Shelf.FICTION
  4: optional i16 year
  5: set<i64> copies
  6: map<string, double> ratings
  7: binary cover
  8: uuid edition
  9: bool lent
  /** The books that are bound with it. */
  10: list<Book> parts
}

/** The library does not have it. */
exception NotHere {
  1: string title
  2: string message
}

service Library {
  /** Looks a book up. */
  Book find(1: string title) throws (1: NotHere not_here)

  /** Takes a book as a gift; returns how many there are now. */
  i32 give(1: Book book)

  /** Puts a reader on the list for a book; nobody answers. */
  oneway void reserve(1: string title)

  /** How many readers wait for a book. */
  i32 waiting(1: string title)
}
