#include "pool.hpp"

#include "fail.hpp"

#include <pthread.h>
#include <signal.h>

namespace eve {

namespace {

constexpr int usual_threads = 4; // a guess: lookups and files are few
constexpr int most_more = 60;    // for libraries; a guess, too

pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t some = PTHREAD_COND_INITIALIZER;
pthread_cond_t quiet = PTHREAD_COND_INITIALIZER;
blocking_call* first;
blocking_call** end_of_list = &first;
int rooms; // of pool_room
int threads;
int idle_threads; // also those that were woken and do not run yet
int queued;       // calls that no thread has taken
int working;
int forsaken; // of those that are queued or made, for a moment less than that

// Under the guard.
bool at_rest() noexcept { return queued + working <= forsaken; }

void* serve(void*) {
    pthread_mutex_lock(&guard);
    for (;;) {
        while (first == nullptr) {
            idle_threads++;
            pthread_cond_wait(&some, &guard);
            idle_threads--;
        }
        blocking_call* call = first;
        first = call->next_call;
        if (first == nullptr) end_of_list = &first;
        queued--;
        working++;
        pthread_mutex_unlock(&guard);
        call->block();
        pthread_mutex_lock(&guard);
        working--;
        if (at_rest()) pthread_cond_broadcast(&quiet);
    }
}

// Signals are for the workers' threads. Under the guard.
void start_thread() noexcept {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, serve, nullptr) == 0) {
        pthread_detach(thread);
        threads++;
    } else if (threads == 0) {
        die("no thread for blocking calls");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

pool_room::pool_room() noexcept {
    pthread_mutex_lock(&guard);
    rooms++;
    pthread_mutex_unlock(&guard);
}

pool_room::~pool_room() {
    pthread_mutex_lock(&guard);
    rooms--;
    pthread_mutex_unlock(&guard);
}

void run_blocking(blocking_call& call) noexcept {
    pthread_mutex_lock(&guard);
    call.next_call = nullptr;
    *end_of_list = &call;
    end_of_list = &call.next_call;
    int most = usual_threads + (rooms < most_more ? rooms : most_more);
    if (++queued > idle_threads && threads < most) start_thread();
    pthread_cond_signal(&some);
    pthread_mutex_unlock(&guard);
}

void change_forsaken(int by) noexcept {
    pthread_mutex_lock(&guard);
    forsaken += by;
    if (at_rest()) pthread_cond_broadcast(&quiet);
    pthread_mutex_unlock(&guard);
}

void wait_for_blocking() noexcept {
    pthread_mutex_lock(&guard);
    while (!at_rest()) pthread_cond_wait(&quiet, &guard);
    pthread_mutex_unlock(&guard);
}

} // namespace eve
