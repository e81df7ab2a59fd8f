/*
 * An echo server that does one thing wrong, which its third argument names. Some do it at once, the
 * others when a fourth client connects: conformance has fewer, a load has more.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CROWD = 4 };

static const char *fault;
static atomic_int clients, served;

static int
is(const char *name)
{
	return strcmp(fault, name) == 0;
}

static void
end(int sig)
{
	(void)sig;
	_exit(0);
}

/* A child in a session of its own, deaf, whose parent is gone. */
static void
escape(void)
{
	if (fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		if (fork() == 0)
			sleep(600);
		_exit(0);
	}
}

static void
crowded(void)
{
	if (is("dies")) {
		fprintf(stderr, "out of luck\n");
		abort();
	}
	if (is("deaf")) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGINT, SIG_IGN);
	}
	if (is("escapes"))
		escape();
	for (int i = 0; is("floods") && i < 40000; i++)
		printf("%08d this goes on and on, and nobody asked for it\n", i);
	fflush(stdout);
}

/* Ends the program once nobody has asked for anything for 15 ms, after a few answers to a load. */
static void *
tire(void *arg)
{
	int before, idle = 0;

	(void)arg;
	for (before = 0; idle < 15; usleep(1000)) {
		if (clients < CROWD || served < 5 || served != before)
			idle = 0;
		else
			idle++;
		before = served;
	}
	fprintf(stderr, "nothing to do\n");
	_exit(3);
}

static void *
serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (is("wrong") && clients >= CROWD)
			buf[0] ^= 1;
		if (write(fd, buf, (size_t)n) != n)
			break;
		served++;
	}
	close(fd);
	return NULL;
}

int
main(int argc, char *argv[])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	pthread_t thread;
	int one = 1, fd, client;

	fault = argc > 3 ? argv[3] : "none";
	if (is("silent"))
		for (;;)
			pause();
	if (is("early"))
		errx(3, "no licence file");
	signal(SIGTERM, end);
	signal(SIGPIPE, SIG_IGN);
	addr.sin_port = htons((uint16_t)atoi(argv[1]));
	inet_pton(AF_INET, argv[2], &addr.sin_addr);
	if ((fd = socket(AF_INET, SOCK_STREAM, 0)) == -1)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1 || listen(fd, 4096) == -1)
		err(1, "port %s", argv[1]);
	fprintf(stderr, "ready\n");
	if (is("rests") && pthread_create(&thread, NULL, tire, NULL) != 0)
		err(1, "thread");
	while ((client = accept(fd, NULL, NULL)) != -1) {
		if (++clients == CROWD)
			crowded();
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)client) != 0)
			err(1, "thread");
		pthread_detach(thread);
	}
	err(1, "accept");
}
