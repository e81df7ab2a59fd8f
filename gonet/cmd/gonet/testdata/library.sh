# shellcheck shell=sh
# Functions that the scripts share; the loopback of their namespace is brought up.
ip link set lo up

# await PATTERN FILE waits until a line of the file matches, five minutes at most. Nothing is expected to be fast.
await() {
	tries=0
	until grep -q "$1" "$2" 2>/dev/null; do
		tries=$((tries + 1))
		if [ $tries -gt 6000 ]; then
			echo "no $1 in $2 after five minutes:" >&2
			cat "$2" >&2
			exit 1
		fi
		sleep 0.05
	done
}

# patient DEVICE has the kernel ask for the addresses of its neighbours for minutes: it says that they are unreachable if they get no core for the three
# seconds that it asks otherwise.
patient() {
	for file in "/proc/sys/net/ipv4/neigh/$1/mcast_solicit" "/proc/sys/net/ipv6/neigh/$1/mcast_solicit"; do
		test ! -e "$file" || echo 300 >"$file"
	done
}

# stop ends a program as Ctrl-C does, and prints its exit status.
stop() {
	kill -INT "$1"
	status=0
	wait "$1" || status=$?
	echo "ended with $status"
}

# guest starts a process in a user and a network namespace of its own, whose PID is then in $guest.
guest() {
	unshare -Urn sleep 1000 &
	guest=$!
	until test "$(readlink /proc/$guest/ns/net)" != "$(readlink /proc/self/ns/net)" && grep -q . /proc/$guest/uid_map; do sleep 0.05; done
}

# inside COMMAND... runs a command in the namespaces of the guest, and inside_exec does so in place of the shell.
inside() {
	nsenter -t "$guest" -U -n --preserve-credentials "$@"
}
inside_exec() {
	exec nsenter -t "$guest" -U -n --preserve-credentials "$@"
}

# containers has podman run containers of crun in namespaces of our own, with all that it keeps in the folder of the script.
containers() {
	mount -t tmpfs none /run
	mount -t tmpfs none /var/tmp
	mount -t cgroup2 none /sys/fs/cgroup
	cat >containers.conf <<end
[containers]
cgroups = "disabled"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
network_cmd_path = "$(command -v slirp4netns)"
runtime = "crun"
end
	cat >storage.conf <<end
[storage]
driver = "vfs"
graphroot = "$PWD/graph"
runroot = "$PWD/run"
end
	export CONTAINERS_CONF="$PWD/containers.conf" CONTAINERS_STORAGE_CONF="$PWD/storage.conf"
}

# box makes the image of that name: busybox, and the files in the folder image.
box() {
	mkdir -p image/bin
	cp "$(command -v busybox)" image/bin/busybox
	for name in sh wget nslookup httpd; do ln -s busybox image/bin/$name; done
	tar -C image -c . | podman import - box >/dev/null
}
