#include "saving.hpp"

#include "runtime.hpp"
#include "threads.hpp"

#include <errno.h>
#include <signal.h>

namespace eve {

namespace {

constexpr int most_saves = 2;
constexpr int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

constinit save_file saves[most_saves] = {};
constinit int save_count = 0;
constinit atomic<u32> saving{0};

sigset_t caught_set() noexcept {
    sigset_t all;
    sigemptyset(&all);
    for (int s : caught) sigaddset(&all, s);
    return all;
}

// The signals but SIGQUIT end the process, as they do when nothing is saved.
void on_signal(int number) {
    int error = errno;
    save_all();
    errno = error;
    if (number == SIGQUIT) return;
    signal(number, SIG_DFL);
    raise(number); // when this returns
}

// A signal that is ignored, or that another one waits for, stays so.
void catch_signals() noexcept {
    for (int s : caught) {
        struct sigaction was {
        }, how{};
        if (sigaction(s, nullptr, &was) != 0 || was.sa_handler != SIG_DFL) continue;
        how.sa_handler = on_signal;
        how.sa_flags = SA_RESTART;
        how.sa_mask = caught_set();
        sigaction(s, &how, nullptr);
    }
}

} // namespace

void save_at_end(save_file f) noexcept {
    saves[save_count++] = f;
    if (save_count > 1) return;
    catch_signals();
    static constinit end_hook hook{save_all};
    hook.next = nullptr;
    at_end(&hook);
}

void forget_saves() noexcept {
    if (save_count == 0) return;
    save_count = 0;
    for (int s : caught) {
        struct sigaction is {};
        if (sigaction(s, nullptr, &is) == 0 && is.sa_handler == on_signal) signal(s, SIG_DFL);
    }
}

// A handler on this thread would wait for this call, so the signals wait.
void save_all() noexcept {
    if (save_count == 0) return;
    sigset_t these = caught_set(), was;
    pthread_sigmask(SIG_BLOCK, &these, &was);
    while (saving.exchange(1, order::acquire)) yield_thread();
    for (int i = 0; i < save_count; i++) saves[i]();
    saving.store(0, order::release);
    pthread_sigmask(SIG_SETMASK, &was, nullptr);
}

} // namespace eve
