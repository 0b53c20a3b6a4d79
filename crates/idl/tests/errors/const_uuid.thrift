const uuid A = "not a uuid"
const uuid B = 5
