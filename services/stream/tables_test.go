package stream

import (
	"io"
	"net"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"interleave/internal/probe/probetest"
)

// TestTables lowers the limit of open files of a server whose threads have descriptor tables of
// their own. Many more clients listen than one table holds, in as many threads as that needs. When
// they have gone, as many come again and fit into the existing threads, except clients that are
// quicker than the threads notice the free places.
func TestTables(t *testing.T) {
	const clients, limit, turns = 1000, 128, 4
	const least, most = clients / limit, 2 * (clients/limit + 1)
	probetest.Each(t, "*-tables", func(t *testing.T, m *probetest.Subject) {
		server := m.Start(t, nil)
		pid := server.Group.PIDs()[0]
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit},
			nil); err != nil {
			t.Fatal(err)
		}
		addr := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
		for turn := range turns {
			var bodies []io.ReadCloser
			for n := range clients {
				body, err := look(t.Context(), addr, n)
				if err != nil {
					t.Fatalf("turn %d, client %d: %v", turn, n, err)
				}
				defer body.Close()
				bodies = append(bodies, body)
			}
			for n, body := range bodies {
				if err := hear(body, n); err != nil {
					t.Fatalf("turn %d, client %d: %v", turn, n, err)
				}
			}
			if threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task"); err != nil ||
				len(threads) < least || len(threads) > most {
				t.Errorf("turn %d: got %d threads and %v, want %d to %d", turn, len(threads), err,
					least, most)
			}
			for _, body := range bodies {
				body.Close()
			}
		}
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
}
