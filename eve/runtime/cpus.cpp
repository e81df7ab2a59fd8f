// The number of workers: the CPUs of the affinity mask, or fewer if a control group allows less
// time than that.
#include "scheduler.hpp"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace eve {
namespace {

// Reads the start of a small file as text. False when the file cannot be read.
bool read_text(const char* path, char* text, usize size) noexcept {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = ::read(fd, text, size - 1);
    close(fd);
    if (n < 0) return false;
    text[n] = 0;
    return true;
}

int cpus_of(long quota_us, long period_us) noexcept {
    if (quota_us <= 0 || period_us <= 0) return idle_set::most;
    long n = (quota_us + period_us - 1) / period_us;
    return n < 1 ? 1 : n > idle_set::most ? idle_set::most : int(n);
}

// For cgroup v2: the least quota of the group and of all groups around it.
int quota_of_groups() noexcept {
    char groups[4096], path[4096 + 64], text[128];
    if (!read_text("/proc/self/cgroup", groups, sizeof groups)) return idle_set::most;
    char* group = strstr(groups, "0::/");
    if (!group || (group != groups && group[-1] != '\n')) return idle_set::most;
    group += 3;
    group[strcspn(group, "\n")] = 0;
    int least = idle_set::most;
    for (;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        long quota = 0, period = 0;
        if (read_text(path, text, sizeof text) && sscanf(text, "%ld %ld", &quota, &period) == 2) {
            int n = cpus_of(quota, period);
            if (n < least) least = n;
        }
        char* up = strrchr(group, '/');
        if (!up) return least;
        *up = 0;
    }
}

// For cgroup v1, as containers see it.
int quota_of_controller() noexcept {
    char text[64];
    long quota = 0, period = 0;
    if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text) ||
        sscanf(text, "%ld", &quota) != 1)
        return idle_set::most;
    if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof text) ||
        sscanf(text, "%ld", &period) != 1)
        return idle_set::most;
    return cpus_of(quota, period);
}

} // namespace

int usable_cpus() noexcept {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : int(sysconf(_SC_NPROCESSORS_ONLN));
    int groups = quota_of_groups(), controller = quota_of_controller();
    int quota = groups < controller ? groups : controller;
    if (quota < n) n = quota;
    return n < 1 ? 1 : n;
}

} // namespace eve
