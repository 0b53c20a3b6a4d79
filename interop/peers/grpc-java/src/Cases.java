import calls.v1.CallsGrpc;
import calls.v1.CallsOuterClass.Blob;
import calls.v1.CallsOuterClass.Failure;
import calls.v1.CallsOuterClass.Many;
import calls.v1.CallsOuterClass.Number;
import calls.v1.CallsOuterClass.Text;
import calls.v1.CallsOuterClass.Value;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import com.google.protobuf.Message;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import mapped.MappedGrpc;
import mapped.MappedOuterClass.AddRequest;
import mapped.MappedOuterClass.CountRequest;
import mapped.MappedOuterClass.FailRequest;
import mapped.MappedOuterClass.Missing;
import mapped.MappedOuterClass.NumbersRequest;
import mapped.MappedOuterClass.Refused;

/** What the client tries; the names are those of the other programs. */
final class Cases {
  private static final int SECONDS = 30;

  static final Map<String, Peer.Case> ALL = new LinkedHashMap<>();

  static {
    ALL.put("echo", Cases::echo);
    ALL.put("large", channel -> large(calls(channel)));
    ALL.put("gzip", channel -> large(calls(channel).withCompression("gzip")));
    ALL.put("codes", Cases::codes);
    ALL.put("metadata", Cases::metadata);
    ALL.put("deadline", Cases::deadline);
    ALL.put("cancel", Cases::cancel);
    ALL.put("unknown", Cases::unknown);
    ALL.put("server_stream", Cases::serverStream);
    ALL.put("client_stream", Cases::clientStream);
    ALL.put("both_streams", Cases::bothStreams);
    ALL.put("mapped", Cases::mapped);
    ALL.put("mapped_exceptions", Cases::mappedExceptions);
  }

  private Cases() {}

  private static CallsGrpc.CallsBlockingStub calls(ManagedChannel channel) {
    return CallsGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  private static void check(Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new AssertionError("got " + got + ", want " + want);
    }
  }

  /** How a call fails. */
  private static StatusRuntimeException failure(Runnable call) {
    try {
      call.run();
    } catch (StatusRuntimeException failed) {
      return failed;
    }
    throw new AssertionError("the call did not fail");
  }

  private static Number number(long number) {
    return Number.newBuilder().setNumber(number).build();
  }

  /** The bytes that all peers make. */
  private static ByteString pattern(int size) {
    byte[] bytes = new byte[size];
    for (int at = 0; at < size; at++) {
      bytes[at] = (byte) (at % 251);
    }
    return ByteString.copyFrom(bytes);
  }

  private static void echo(ManagedChannel channel) {
    Value known = calls(channel).known(Empty.getDefaultInstance());
    check(known.getText(), "Grüße, 世界 🚀");
    check(known.getUnsigned(), -1L);
    for (Value value : List.of(Value.getDefaultInstance(), known)) {
      check(calls(channel).echo(value), value);
    }
  }

  private static void large(CallsGrpc.CallsBlockingStub calls) {
    for (int size : new int[] {0, 1, 127, 16 << 10, 70_000, 5_000_000}) {
      check(calls.make(number(size)).getBlob(), pattern(size));
      Value value = Value.newBuilder().setBlob(pattern(size)).build();
      check(calls.echo(value), value);
    }
  }

  private static void codes(ManagedChannel channel) {
    for (Status.Code code : Status.Code.values()) {
      if (code == Status.Code.OK) {
        continue;
      }
      String text = "\t100% Grüße, number " + code.value() + "\n";
      Failure wanted = Failure.newBuilder().setCode(code.value()).setMessage(text).build();
      Status status = failure(() -> calls(channel).fail(wanted)).getStatus();
      check(status.getCode(), code);
      check(status.getDescription(), text);
    }
  }

  private static void metadata(ManagedChannel channel) {
    Metadata sent = new Metadata();
    sent.put(Metadata.Key.of("colour", Metadata.ASCII_STRING_MARSHALLER), "dark blue");
    sent.put(Metadata.Key.of("trace-bin", Metadata.BINARY_BYTE_MARSHALLER), new byte[] {0, -1, ','});
    CallsGrpc.CallsBlockingStub calls =
        calls(channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(sent));
    Map<String, String> wanted = Map.of("colour", "6461726b20626c7565", "trace-bin", "00ff2c", "none", "");
    wanted.forEach((name, hex) -> check(calls.header(Text.newBuilder().setText(name).build()).getText(), hex));
  }

  /** Waits until the server has noticed that one caller has gone. */
  private static void givenUp(ManagedChannel channel, Number token) throws InterruptedException {
    for (int at = 0; at < SECONDS * 100; at++) {
      if (calls(channel).givenUp(token).getNumber() == 1) {
        return;
      }
      Thread.sleep(10);
    }
    throw new AssertionError("the handler was not told");
  }

  private static void deadline(ManagedChannel channel) throws InterruptedException {
    long left = CallsGrpc.newBlockingStub(channel)
        .withDeadlineAfter(20, TimeUnit.SECONDS)
        .timeLeft(Empty.getDefaultInstance())
        .getNumber();
    check(left > 15_000 && left <= 20_000, true);
    Number token = number(System.nanoTime());
    CallsGrpc.CallsBlockingStub hasty =
        CallsGrpc.newBlockingStub(channel).withDeadlineAfter(200, TimeUnit.MILLISECONDS);
    check(failure(() -> hasty.wait(token)).getStatus().getCode(), Status.Code.DEADLINE_EXCEEDED);
    givenUp(channel, token);
  }

  private static void cancel(ManagedChannel channel) throws InterruptedException {
    Number token = number(System.nanoTime());
    Context.CancellableContext context = Context.current().withCancellation();
    context.run(() -> CallsGrpc.newFutureStub(channel).wait(token));
    // A server may begin calls in another order than they were sent. It has begun this one when a few later ones are
    // answered.
    for (int at = 0; at < 10; at++) {
      calls(channel).known(Empty.getDefaultInstance());
    }
    context.cancel(null);
    givenUp(channel, token);
  }

  private static void unknown(ManagedChannel channel) {
    StatusRuntimeException failed = failure(
        () -> io.grpc.stub.ClientCalls.blockingUnaryCall(
            channel,
            CallsGrpc.getKnownMethod().toBuilder().setFullMethodName("calls.v1.Calls/Nope").build(),
            calls(channel).getCallOptions(),
            Empty.getDefaultInstance()));
    check(failed.getStatus().getCode(), Status.Code.UNIMPLEMENTED);
  }

  private static void serverStream(ManagedChannel channel) {
    int[][] sizes = {{0, 1}, {1, 0}, {1000, 10}, {20, 100_000}, {2, 3_000_000}};
    for (int[] each : sizes) {
      Many many = Many.newBuilder().setCount(each[0]).setSize(each[1]).build();
      int count = 0;
      for (Iterator<Blob> blobs = calls(channel).makeMany(many); blobs.hasNext(); count++) {
        check(blobs.next().getBlob(), pattern(each[1]));
      }
      check(count, each[0]);
    }
    Many failing = Many.newBuilder().setCount(3).setSize(9).setCode(10).build();
    Iterator<Blob> blobs = calls(channel).makeMany(failing);
    for (int at = 0; at < 3; at++) {
      check(blobs.next().getBlob(), pattern(9));
    }
    Status status = failure(blobs::hasNext).getStatus();
    check(status.getCode() + " " + status.getDescription(), "ABORTED after 3");
  }

  /** Puts together what comes. */
  private static final class Gathering<T> implements StreamObserver<T> {
    final CompletableFuture<List<T>> all = new CompletableFuture<>();
    private final List<T> some = new ArrayList<>();

    @Override
    public void onNext(T item) {
      some.add(item);
    }

    @Override
    public void onError(Throwable error) {
      all.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
      all.complete(some);
    }
  }

  private static void clientStream(ManagedChannel channel) throws Exception {
    for (int count : new int[] {0, 1, 1000}) {
      Gathering<Number> answer = new Gathering<>();
      StreamObserver<Number> numbers = CallsGrpc.newStub(channel).sum(answer);
      for (int each = 0; each < count; each++) {
        numbers.onNext(number(each));
      }
      numbers.onCompleted();
      check(answer.all.get(SECONDS, TimeUnit.SECONDS), List.of(number((long) count * (count - 1) / 2)));
    }
  }

  private static void bothStreams(ManagedChannel channel) throws Exception {
    Gathering<Value> answer = new Gathering<>();
    StreamObserver<Value> values = CallsGrpc.newStub(channel).echoMany(answer);
    List<Value> sent = new ArrayList<>();
    for (int each = 0; each < 200; each++) {
      Value value = Value.newBuilder().setNumber(each).setBlob(pattern(each)).build();
      sent.add(value);
      values.onNext(value);
    }
    values.onCompleted();
    check(answer.all.get(SECONDS, TimeUnit.SECONDS), sent);
  }

  private static MappedGrpc.MappedBlockingStub mappedCalls(ManagedChannel channel) {
    return MappedGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  private static void mapped(ManagedChannel channel) {
    for (int[] each : new int[][] {{1, 2}, {0, 0}, {-5, 3}}) {
      AddRequest request = AddRequest.newBuilder().setLeft(each[0]).setRight(each[1]).build();
      check(mappedCalls(channel).add(request).getResult(), each[0] + each[1]);
    }
    List<Integer> got = new ArrayList<>();
    NumbersRequest three = NumbersRequest.newBuilder().setTo(3).build();
    mappedCalls(channel).numbers(three).forEachRemaining(item -> got.add(item.getItem()));
    check(got, List.of(0, 1, 2));
  }

  private static void thrown(StatusRuntimeException failed, Message exception) {
    check(failed.getStatus().getCode(), Status.Code.UNKNOWN);
    List<Any> details = StatusProto.fromThrowable(failed).getDetailsList();
    // The name of the type counts, too.
    check(details, List.of(Any.pack(exception)));
  }

  private static void mappedExceptions(ManagedChannel channel) {
    Map<String, Message> exceptions = Map.of(
        "refused", Refused.newBuilder().setWhy("no").setCount(3).build(),
        "missing", Missing.newBuilder().setWhat("it").build());
    exceptions.forEach((how, exception) -> {
      FailRequest request = FailRequest.newBuilder().setHow(how).build();
      thrown(failure(() -> mappedCalls(channel).fail(request)), exception);
    });
    CountRequest ending = CountRequest.newBuilder().setTo(3).setMissingAt(2).build();
    Missing missing = Missing.newBuilder().setWhat("number 2").build();
    thrown(failure(() -> mappedCalls(channel).count(ending).forEachRemaining(item -> {})), missing);
  }
}
