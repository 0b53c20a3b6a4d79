import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceType;
import org.apache.zookeeper.server.ZooKeeperServerMain;

/**
 * ZooKeeper, and what Curator's service discovery does with it.
 *
 * <pre>
 * serve PORT FOLDER TICK              the server
 * list MEMBER BASE SERVICE            the nodes of a service, with their data
 * discover MEMBER BASE SERVICE        its instances, as Curator finds them
 * add MEMBER BASE SERVICE HOST:PORT   an instance, as Curator registers it
 * </pre>
 */
final class Registry {
    public static void main(String[] words) throws Exception {
        if (words[0].equals("serve")) {
            ZooKeeperServerMain.main(new String[] {words[1], words[2], words[3]});
            return;
        }
        String base = "/" + words[2];
        String service = words[3];
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(words[1], new RetryOneTime(100))) {
            client.start();
            if (words[0].equals("list")) {
                String path = base + "/" + service;
                if (client.checkExists().forPath(path) == null) {
                    return;
                }
                for (String name : client.getChildren().forPath(path)) {
                    byte[] data = client.getData().forPath(path + "/" + name);
                    System.out.println(name + " " + new String(data, StandardCharsets.UTF_8));
                }
                return;
            }
            try (ServiceDiscovery<Object> discovery =
                    ServiceDiscoveryBuilder.builder(Object.class).client(client).basePath(base).build()) {
                discovery.start();
                switch (words[0]) {
                    case "discover" -> {
                        for (ServiceInstance<Object> found : discovery.queryForInstances(service)) {
                            System.out.println(found.getAddress() + ":" + found.getPort());
                        }
                    }
                    case "add" -> {
                        String[] place = words[4].split(":");
                        // It is to outlive this program. Curator would take it back at its end.
                        discovery.registerService(ServiceInstance.builder()
                                .name(service)
                                .address(place[0])
                                .port(Integer.parseInt(place[1]))
                                .serviceType(ServiceType.PERMANENT)
                                .build());
                        Runtime.getRuntime().halt(0);
                    }
                    default -> throw new IllegalArgumentException(words[0]);
                }
            }
        }
    }
}
