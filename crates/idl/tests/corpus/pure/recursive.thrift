struct Tree { 1: list<Tree> children, 2: i16 item }
struct Chain { 1: Chain & rest, 2: i16 item }
struct Maybe { 1: optional Maybe inner }
struct Left { 1: optional Right right }
struct Right { 1: required Left left }
struct ByMap { 1: required map<string, ByMap> inner }
union Expr { 1: i32 literal, 2: Expr negated, 3: list<Expr> sum, 4: Pair pair }
struct Pair { 1: required Expr left, 2: required Expr right }
exception Cause { 1: optional Cause cause }
typedef list<Loop> Loops
struct Loop { 1: Loops loops }
