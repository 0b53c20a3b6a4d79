package dev.dovetail.bench;

/** What {@code --workload} and {@code --case} ask for; the size counts bytes or rows. */
record Work(String workload, int size, int waitMs) {
  static final int SMALL_CALLS_TO_COMPILE = 30_000;

  /** How many calls it takes until the virtual machine has compiled what they need. */
  int callsToCompile() {
    return switch (workload) {
      case "get_blob", "blob_100k" -> Math.max(64, (1 << 30) / Math.max(size, 1 << 15));
      case "get_structs", "structs_100k" -> 3_000;
      default -> SMALL_CALLS_TO_COMPILE;
    };
  }
}
