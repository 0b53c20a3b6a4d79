const any A = 1
const dynamic B = {}
