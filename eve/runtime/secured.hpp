#pragma once
// The part of a socket whose connection is protected.
#include "protection.hpp"
#include "socket.hpp"

namespace eve {

// While `shaking`, only the worker inside of the socket's loop uses the layer, and without the
// guard: a handshake takes up to some milliseconds. Afterwards all workers use it, under the guard.
struct socket::secured final : timer_node {
    // The timer is the time limit of the handshake.
    secured(socket& s, layer* l, i64 limit_ns, bool shakes) noexcept
        : of(s), what(l), patience_ns(limit_ns), shaking(shakes) {}
    secured(const secured&) = delete;
    secured& operator=(const secured&) = delete;
    ~secured() { delete what; }
    void expire(loop& on, i64) override;

    // Under the guard, all below. Output of the layer goes behind what waits for the network.
    void collect() noexcept;
    // Makes bytes for the network, if none wait there: of the output, then of its end.
    void seal(byte_queue& output, bool ends) noexcept;

    socket& of;
    layer* const what;
    i64 patience_ns;
    byte_queue wire; // for the network
    bool shaking;
    bool finished = false; // nothing more is sealed
    bool cut = false;      // the network has ended, but the peer had not said so
};

} // namespace eve
