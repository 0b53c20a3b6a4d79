package dev.dovetail.bench;

import dev.dovetail.bench.pb.BenchGrpc;
import dev.dovetail.bench.pb.BlobRequest;
import dev.dovetail.bench.pb.Nothing;
import dev.dovetail.bench.pb.Question;
import dev.dovetail.bench.pb.Samples;
import dev.dovetail.bench.pb.WorkRequest;
import io.grpc.Channel;
import java.util.List;

/** The contract in plain records, on a connection that several callers may share. */
final class GrpcClient {
  private final BenchGrpc.BenchBlockingStub stub;

  GrpcClient(Channel channel) {
    stub = BenchGrpc.newBlockingStub(channel);
  }

  int getAnswer(int question) {
    return stub.getAnswer(Question.newBuilder().setQuestion(question).build()).getAnswer();
  }

  byte[] getBlob(int size) {
    return stub.getBlob(BlobRequest.newBuilder().setSize(size).build()).getBlob().toByteArray();
  }

  List<Data.Student> getStructs() {
    return Messages.each(stub.getStructs(Nothing.getDefaultInstance()).getStudentsList(), Messages::unpack);
  }

  List<Data.Sample> echoSamples(List<Data.Sample> samples) {
    Samples request = Samples.newBuilder().addAllSamples(Messages.each(samples, Messages::pack)).build();
    return Messages.each(stub.echoSamples(request).getSamplesList(), Messages::unpack);
  }

  List<Data.Row> dbWork(int rows, int waitMs) {
    WorkRequest request = WorkRequest.newBuilder().setRows(rows).setWaitMs(waitMs).build();
    return Messages.each(stub.dbWork(request).getRowsList(), Messages::unpack);
  }

  Data.Message process(Data.Message message) {
    return Messages.unpack(stub.process(Messages.pack(message)));
  }
}
