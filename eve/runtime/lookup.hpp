#pragma once
// The addresses of a name. The C library waits for servers of names, for half a minute or more, and
// cannot be interrupted: so a lookup has a thread of the pool, and can be left alone there.
#include "atomic.hpp"
#include "pool.hpp"
#include "string.hpp"

struct addrinfo;

namespace eve {

class loop;
struct channel;

class lookup final : blocking_call {
public:
    // The channel gets mail_done when the lookup has ended, unless it was abandoned before.
    lookup(const string& host, i64 port, channel& to) noexcept;
    lookup(const lookup&) = delete;
    lookup& operator=(const lookup&) = delete;
    ~lookup();

    void begin() noexcept { run_blocking(*this); }
    // Inside of the channel's loop. True: the channel gets no mail, and must not use the lookup any
    // more, which frees itself when the C library has returned. False: the mail is on its way.
    bool abandon() noexcept;

    // After the mail. The addresses, which live as long as the lookup; the result of getaddrinfo.
    addrinfo* found() const noexcept { return found_; }
    int code() const noexcept { return code_; }

private:
    enum : u32 { wanted, ended, abandoned };
    void block() noexcept override;

    string host_;
    i64 port_;
    channel& to_;
    addrinfo* found_ = nullptr;
    int code_ = 0;
    atomic<u32> state_{wanted};
    pool_room room_; // so files and others find a thread, too
};

} // namespace eve
