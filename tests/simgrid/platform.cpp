// SPDX-License-Identifier: BSD-3-Clause
#include "platform.hpp"

#include <string>
#include <xbt/log.h>

namespace stretto::test {

namespace s4u = simgrid::s4u;

void configure() {
    xbt_log_control_set("xbt_cfg.threshold:warning"); // else it tells of each setting
    // By the names of SimGrid 3.32, which later versions take as well.
    for (const char *setting :
         {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
          "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0",
          // What ends within 0.1 ps ends at once; all times of the cases are whole picoseconds.
          "surf/precision:1e-13", "maxmin/precision:1e-9",
          // Thousands of actors wait at a time.
          "contexts/stack-size:64", "contexts/guard-size:0"})
        s4u::Engine::set_config(setting);
}

std::vector<s4u::Host *> make_hosts(schedule::Position ranks, const simulate::Network &network,
                                    double sooner) {
    s4u::NetZone *zone = s4u::create_star_zone("hosts");
    const double speed = network.gamma > 0 ? 1 / network.gamma : 1; // unused if there is no work
    std::vector<s4u::Host *> hosts;
    for (schedule::Position p = 0; p < ranks; ++p) {
        const std::string name = std::to_string(p);
        s4u::Host *host = zone->create_host(name, speed)->seal();
        const s4u::Link *up = zone->create_link("out " + name, 1 / network.beta)
                                  ->set_latency(network.alpha - sooner)
                                  ->seal();
        const s4u::Link *down =
            zone->create_link("in " + name, 1 / network.beta)->set_latency(0)->seal();
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(up)},
                        false);
        zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(down)},
                        false);
        hosts.push_back(host);
    }
    zone->seal();
    return hosts;
}

} // namespace stretto::test
