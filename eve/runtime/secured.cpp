// Sockets whose connection is protected: what comes from the network becomes input, and output
// becomes what the network gets.
#include "secured.hpp"

namespace eve {

void socket::secured::expire(loop&, i64) { of.fail(what->too_slow()); }

void socket::secured::collect() noexcept {
    if (wire.empty()) wire.swap(what->made);
    else wire.append(what->made.data(), what->made.size());
    what->made.clear();
}

void socket::secured::seal(byte_queue& output, bool ends) noexcept {
    if (shaking || finished || !wire.empty()) return;
    if (!output.empty()) {
        finished = !what->seal(output);
        if (finished) output.clear();
    } else if (ends) {
        finished = true;
        what->finish();
    }
    collect();
}

void socket::secure_with(layer* by, i64 patience_ns, bool shakes) noexcept {
    secure_ = create<secured>(*this, by, patience_ns, shakes);
}

byte_queue& socket::seal() noexcept {
    secure_->seal(out_, closing_ || shutdown_wanted_);
    return secure_->wire;
}

i64 socket::sealed() const noexcept { return secure_->wire.size(); }

bool socket::is_shaking() const noexcept { return secure_->shaking; }

layer* socket::settled_layer() const noexcept {
    return secure_ == nullptr || secure_->shaking ? nullptr : secure_->what;
}

void socket::drop_output() noexcept {
    out_.clear();
    if (secure_ != nullptr) secure_->wire.clear();
}

// Inside of the loop. Bytes of the network have come, or its end. Returns whether there may be
// input to hand out.
bool socket::receive(loop& on, const u8* data, i64 size, bool ends) noexcept {
    if (!secure_->shaking) return unseal(data, size, ends);
    layer& l = *secure_->what;
    if (ends) {
        fail(l.cut_off(true));
        return false;
    }
    l.came(data, size);
    return shake(on) && unseal(nullptr, 0, false);
}

// After the handshake; the same, also of what has come before.
bool socket::unseal(const u8* data, i64 size, bool ends) noexcept {
    effects then;
    error why;
    bool failed, any;
    {
        locked g(guard);
        if (secure_ == nullptr || ended_ || closing_) return false;
        layer& l = *secure_->what;
        if (size > 0) l.came(data, size);
        i64 before = in_.size();
        layer::progress now = l.unseal(in_);
        if (in_.size() > before) announced_ = false;
        secure_->cut = ends && now == layer::progress::more;
        saw_end_ = ends;
        ended_ = ends || now == layer::progress::done;
        secure_->collect();
        // a peer may ask for answers, and not read them
        note_high_water();
        if (sealed() > 0) push(then);
        failed = now == layer::progress::failed;
        if (failed) why = l.why();
        any = in_.size() > before || ended_;
    }
    apply(then);
    if (failed) fail(why);
    return any && !failed;
}

// The next step of the handshake. Returns whether it is over.
bool socket::shake(loop& on) noexcept {
    secured& s = *secure_;
    layer::progress now = s.what->shake();
    if (now == layer::progress::failed) {
        fail(s.what->why());
        return false;
    }
    effects then;
    bool over = now == layer::progress::done;
    if (over) on.cancel(s);
    {
        locked g(guard);
        s.collect();
        s.shaking = !over;
        push(then);
    }
    apply(then);
    return over;
}

// Inside of the loop, or after the handshake under no guard. The protection has failed: the peer
// gets what the layer has to say about that, and the connection closes.
void socket::fail(const error& why) noexcept {
    effects then;
    bool tell;
    {
        locked g(guard);
        if (secure_ == nullptr || closed_ || broken_) return;
        tell = !ended_ || !closing_;
        begin_to_close();
        ended_ = true;
        in_.clear();
        out_.clear();
        secure_->collect();
        secure_->shaking = false;
        secure_->finished = true;
        push(then);
        then.sent = false; // the error comes before `close`
    }
    if (tell) post(header_of(*this), create<emission_of<error>>(error(why)));
    apply(then);
    close_when_sent();
}

} // namespace eve
