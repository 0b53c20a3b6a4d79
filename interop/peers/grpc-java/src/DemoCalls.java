import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import com.google.protobuf.TypeRegistry;
import demo.Demo.Board;
import demo.Demo.MetresRequest;
import demo.Demo.NoteRequest;
import demo.Demo.Order;
import demo.Demo.OutOfStock;
import demo.Demo.PingRequest;
import demo.Demo.QuoteRequest;
import demo.Demo.Wood;
import demo.StockGrpc;
import demo.WorkshopGrpc;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Calls `dovetail demo` with stubs of the contract that it exports, and prints what comes. */
final class DemoCalls {
  private static final int SECONDS = 30;

  private static final TextFormat.Printer PRINTER =
      TextFormat.printer()
          .usingTypeRegistry(TypeRegistry.newBuilder().add(OutOfStock.getDescriptor()).build())
          .emittingSingleLine(true);

  private DemoCalls() {}

  static void print(ManagedChannel channel) {
    var stock = StockGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
    var workshop = WorkshopGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
    MetresRequest oak = MetresRequest.newBuilder().setWood(Wood.OAK).build();
    print("Stock.metres", () -> stock.metres(oak));
    print("Workshop.metres", () -> workshop.metres(oak));
    print("ping", () -> workshop.ping(PingRequest.getDefaultInstance()));
    print("note", () -> workshop.note(NoteRequest.newBuilder().setText("from Java").build()));
    Board board = Board.newBuilder().setLength(1200).setWidth(300).build();
    print("quote", () -> workshop.quote(order(board)));
    print("quote", () -> workshop.quote(order(board.toBuilder().setWood(Wood.WALNUT).build())));
  }

  private static QuoteRequest order(Board board) {
    return QuoteRequest.newBuilder().setOrder(Order.newBuilder().setId(7).addBoards(board)).build();
  }

  /** The answer, or the status with its details, on one line. */
  private static void print(String name, Supplier<Message> call) {
    Message came;
    try {
      came = call.get();
    } catch (StatusRuntimeException failed) {
      came = StatusProto.fromThrowable(failed);
    }
    System.out.println((name + " " + PRINTER.printToString(came)).trim());
  }
}
