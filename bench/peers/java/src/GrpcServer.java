package dev.dovetail.bench;

import com.google.protobuf.UnsafeByteOperations;
import dev.dovetail.bench.pb.Answer;
import dev.dovetail.bench.pb.BenchGrpc;
import dev.dovetail.bench.pb.Blob;
import dev.dovetail.bench.pb.BlobRequest;
import dev.dovetail.bench.pb.Message;
import dev.dovetail.bench.pb.Nothing;
import dev.dovetail.bench.pb.Question;
import dev.dovetail.bench.pb.Rows;
import dev.dovetail.bench.pb.Samples;
import dev.dovetail.bench.pb.Students;
import dev.dovetail.bench.pb.WorkRequest;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Handles calls on the threads of the transport, and so never blocks. */
final class GrpcServer extends BenchGrpc.BenchImplBase {
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

  @Override
  public void getAnswer(Question request, StreamObserver<Answer> response) {
    reply(response, Answer.newBuilder().setAnswer(request.getQuestion() + 41).build());
  }

  @Override
  public void getBlob(BlobRequest request, StreamObserver<Blob> response) {
    // Nobody changes the array, so that it need not be copied.
    reply(response, Blob.newBuilder().setBlob(UnsafeByteOperations.unsafeWrap(Data.blob(request.getSize()))).build());
  }

  @Override
  public void getStructs(Nothing request, StreamObserver<Students> response) {
    reply(response, Students.newBuilder().addAllStudents(Messages.each(Data.STUDENTS, Messages::pack)).build());
  }

  @Override
  public void echoSamples(Samples request, StreamObserver<Samples> response) {
    List<Data.Sample> samples = Messages.each(request.getSamplesList(), Messages::unpack);
    reply(response, Samples.newBuilder().addAllSamples(Messages.each(samples, Messages::pack)).build());
  }

  @Override
  public void dbWork(WorkRequest request, StreamObserver<Rows> response) {
    if (request.getWaitMs() > 0) {
      timer.schedule(() -> replyRows(request, response), request.getWaitMs(), TimeUnit.MILLISECONDS);
    } else {
      replyRows(request, response);
    }
  }

  @Override
  public void process(Message request, StreamObserver<Message> response) {
    reply(response, Messages.pack(Messages.unpack(request)));
  }

  private static void replyRows(WorkRequest request, StreamObserver<Rows> response) {
    List<Data.Row> rows = Data.rows(request.getRows());
    reply(response, Rows.newBuilder().addAllRows(Messages.each(rows, Messages::pack)).build());
  }

  private static <T> void reply(StreamObserver<T> response, T message) {
    response.onNext(message);
    response.onCompleted();
  }
}
