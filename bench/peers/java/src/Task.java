package dev.dovetail.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;

/** The calls of a workload, and how their results are compared. */
final class Task<T> {
  private final T wanted;
  private final Callable<T> call;
  private T got;

  private Task(T wanted, Callable<T> call) {
    this.wanted = wanted;
    this.call = call;
  }

  static Task<?> of(Work work, GrpcClient client) {
    int size = work.size();
    return switch (work.workload()) {
      case "get_answer" -> new Task<>(42, () -> client.getAnswer(1));
      case "get_blob", "blob_100k" -> new Task<>(Data.blob(size), () -> client.getBlob(size));
      case "get_structs" -> new Task<>(Data.STUDENTS, client::getStructs);
      case "structs_100k" -> new Task<>(Data.SAMPLES, () -> client.echoSamples(Data.SAMPLES));
      case "db_work" -> new Task<>(Data.rows(size), () -> client.dbWork(size, work.waitMs()));
      case "agent_small", "agent_large" -> {
        Data.Message message = Data.message(size);
        yield new Task<>(message, () -> client.process(message));
      }
      default -> throw new Bench.Misuse("no task for the workload `%s`", work.workload());
    };
  }

  /** Makes a call, and keeps its result. */
  void call() throws Exception {
    got = call.call();
  }

  /** What is wrong with the last result; null when it is right. */
  String difference() {
    if (Objects.deepEquals(got, wanted)) {
      return null;
    }
    if (got instanceof byte[] bytes) {
      int place = Arrays.mismatch(bytes, (byte[]) wanted);
      return "%d bytes that are wrong from byte %d on".formatted(bytes.length, place);
    }
    return got instanceof List<?> list ? difference(list, (List<?>) wanted) : got + " instead of " + wanted;
  }

  private static String difference(List<?> got, List<?> wanted) {
    for (int i = 0; i < Math.min(got.size(), wanted.size()); i++) {
      if (!got.get(i).equals(wanted.get(i))) {
        return "element %d: %s instead of %s".formatted(i, got.get(i), wanted.get(i));
      }
    }
    return "%d elements instead of %d".formatted(got.size(), wanted.size());
  }
}
