service S extends Missing {}

struct T extends Gone {}
