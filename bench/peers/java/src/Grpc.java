package dev.dovetail.bench;

import io.grpc.Channel;
import io.grpc.internal.GrpcUtil;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;

/** How the library is set up. */
final class Grpc {
  static final String NAME = "grpc-java";
  /** Holds the largest message; a fixed one also saves the pings that would find a good one. */
  private static final int WINDOW = 32 << 20;

  private Grpc() {}

  static String configuration() {
    return "shaded Netty, direct executors at both ends, blocking stubs, no retries, fixed windows of 32 MiB, "
        + Work.SMALL_CALLS_TO_COMPILE
        + " small or 1 GiB of large calls to warm up, java "
        + String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments());
  }

  static String version() {
    return GrpcUtil.getGrpcBuildVersion().getImplementationVersion();
  }

  /** Starts a server; says where it listens. */
  static InetSocketAddress serve(InetSocketAddress address) throws IOException {
    return (InetSocketAddress)
        NettyServerBuilder.forAddress(address)
            .addService(new GrpcServer())
            .directExecutor()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .flowControlWindow(WINDOW)
            .build()
            .start()
            .getListenSockets()
            .get(0);
  }

  static GrpcClient connect(InetSocketAddress address) {
    Channel channel =
        NettyChannelBuilder.forAddress(address)
            .usePlaintext()
            .directExecutor()
            .disableRetry()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .flowControlWindow(WINDOW)
            .build();
    return new GrpcClient(channel);
  }
}
