#pragma once
// A descriptor, and the operations that wait for it: those of datagram sockets, of the pipes to a
// child, and of the end of a child.
//
// An operation makes an attempt, which is a system call that does not wait. When there is nothing
// to be had it waits in a line, and the loop of the descriptor has it make the next attempt.
// Operations of one direction are done in the order of their calls, on whatever workers.
//
//   core->begin(op, io_in);   // op.attempt now, and op.finish now or later
//
// The value of the program's object owns a pollable and forsakes it at its end. The loop may still
// have requests for the descriptor then, so the pollable outlives the object for a moment. All
// operations hold a handle to the object.
#include "async.hpp"
#include "loop.hpp"
#include "object.hpp"

namespace eve {

// What waits in a line of a pollable.
class polled {
public:
    polled() noexcept {}
    polled(const polled&) = delete;
    polled& operator=(const polled&) = delete;

    // Under the guard of the pollable, both. Makes the call, and keeps its result. False: there is
    // nothing yet. refuse: the pollable is closed; the code is an errno.
    virtual bool attempt(int fd) noexcept = 0;
    virtual void refuse(int code) noexcept = 0;
    // Worker threads only, without the guard. Once, after one of both: hands the result over.
    virtual void finish() = 0;

    polled* next_polled = nullptr; // under the guard; after attempt or refuse the finisher's

protected:
    ~polled() = default;
};

class pollable final : public stoppable {
public:
    // Worker threads only. Takes over a descriptor that does not block. With `stops`, it is closed
    // by process.shutdown if something waits for it.
    pollable(int owned, bool stops) noexcept;
    // Before it is used: the object that owns it.
    void belong_to(header* object) noexcept { of_ = object; }

    // Worker threads only. `direction` is io_in or io_out.
    void begin(polled& what, u8 direction);
    // Any worker. True: it was waiting, and will not be finished.
    bool give_up(polled& what) noexcept;
    // Any worker. Refuses what waits and all that comes. `then`, which may be null, is finished
    // when the descriptor is closed.
    void close(polled* then) noexcept;
    // Once, by its owner, when nothing waits. Closes it, and frees it.
    void forsake() noexcept;
    // Any worker. Calls use(fd), which returns 0 or sets errno. Returns 0 or an errno.
    template <class F> int with(F use) noexcept {
        locked l(guard);
        if (closed_) return closed_error;
        return use(fd) == 0 ? 0 : last_errno();
    }

    u8 wanted() const noexcept override;
    void ready(loop& on, u8 events) override;
    void mailed(loop& on, u32 what) override;
    void shut() noexcept override { close(nullptr); }
    header* shared() noexcept override { return of_; }

private:
    struct line {
        polled* first = nullptr;
        polled* last = nullptr;

        void add(polled& what) noexcept;
        polled* take() noexcept;
        bool remove(const polled& what) noexcept;
    };
    static const int closed_error; // EBADF
    static int last_errno() noexcept;
    static void finish_all(line& over);
    void list() noexcept;
    void end() noexcept;

    // Under the guard.
    line lines_[2]; // what waits for input, and for room to write
    line closing_;  // what waits for the end of the descriptor
    header* of_ = nullptr;
    bool stops_;
    bool listed_ = false;   // among those that process.shutdown stops
    bool closed_ = false;   // nothing is begun any more
    bool retired_ = false;  // the loop has forgotten it
    bool forsaken_ = false; // its owner has gone
};

// An operation whose answer is a T!, on the pollable of an object.
template <class T> class polling : public operation_for<result<T>>, public polled {
public:
    // Any thread. Ends with the caller's wait; a call that was made stays made.
    void cancel() noexcept override {
        if (!core().give_up(*this)) return;
        given_up();
        disarm();
        this->drop();
    }
    void refuse(int code) noexcept override { code_ = code; }
    void finish() override {
        if (code_ == 0) this->done(good());
        else this->done(result<T>(why(code_)));
        this->drop();
    }

protected:
    polling() noexcept {}
    ~polling() = default;

    virtual pollable& core() noexcept = 0;
    virtual void given_up() noexcept {}
    virtual result<T> good() = 0;
    virtual error why(int code) = 0;

    int code_ = 0; // of the error; 0: none
};

} // namespace eve
