struct Fine {}
struct Missing oops
