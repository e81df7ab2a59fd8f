#include "multiplex.hpp"

#include "http2_client.hpp"
#include "http2_server.hpp"

namespace eve::io::multiplex {

session server(i64 streams, i64 most_fields, i64 most_bytes) {
    return session(new server_connection(streams, most_fields, most_bytes));
}

session client(i64 streams, i64 most_fields, i64 most_bytes) {
    return session(new client_connection(streams, most_fields, most_bytes));
}

session::~session() { delete what_; }

void session::receive(const bytes& input, duration now) { what_->receive(input, now); }
i64 session::next() { return static_cast<i64>(what_->next()); }
i64 session::stream() const noexcept { return what_->current().id; }
i64 session::code() const noexcept { return what_->current().code; }
bool session::by_peer() const noexcept { return what_->current().by_peer; }
i64 session::queued() const noexcept { return what_->queued(); }
i64 session::heading() const noexcept { return what_->heading(); }
bytes session::output() { return what_->output(); }
void session::leave(bool now) { what_->leave(now); }
bool session::over() const noexcept { return what_->over(); }
i64 session::room() const noexcept { return what_->room(); }
i64 session::ask(const fields& head, const bytes& body, bool follows) {
    return what_->ask(head, body, follows);
}
void session::ping() { what_->ping(); }
i64 session::goaway() const noexcept { return what_->goaway(); }
i64 session::fault() const noexcept { return what_->fault(); }

fields session::head(i64 id) {
    auto* s = what_->find(id);
    return s == nullptr ? fields() : move(s->head);
}

bytes session::take(i64 id) {
    auto* s = what_->find(id);
    return s == nullptr ? bytes() : what_->take(*s);
}

bool session::whole(i64 id) const noexcept {
    auto* s = what_->find(id);
    return s != nullptr && s->whole && s->in.empty();
}

void session::proceed(i64 id) {
    if (auto* s = what_->find(id)) what_->proceed(*s);
}

void session::reply(i64 id, i64 status, const fields& head, bool last) {
    if (auto* s = what_->find(id)) what_->reply(*s, status, head, last);
}

void session::write(i64 id, const string& part) {
    if (auto* s = what_->find(id)) what_->append(*s, part.data(), part.size());
}

void session::write_buffer(i64 id, const bytes& part) {
    if (auto* s = what_->find(id)) what_->append(*s, part.data(), part.size());
}

void session::end(i64 id) {
    if (auto* s = what_->find(id)) what_->end(*s);
}

void session::reset(i64 id) {
    if (auto* s = what_->find(id)) what_->reset(*s);
}

i64 session::pending(i64 id) const noexcept {
    auto* s = what_->find(id);
    return s == nullptr ? 0 : s->out.size();
}

} // namespace eve::io::multiplex
