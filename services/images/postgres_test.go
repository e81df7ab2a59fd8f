package images

import (
	"strings"
	"testing"

	"interleave/internal/postgres"
	"interleave/internal/probe/probetest"
)

// onPostgreSQL tests the models one after the other: they share a PostgreSQL server, which goes
// away and comes back.
func onPostgreSQL(t *testing.T, ask func(t *testing.T, m *probetest.Subject,
	database *postgres.Server)) {
	database := postgres.New(t)
	each(t, asked(), func(t *testing.T, m *probetest.Subject) {
		if !*all && strings.HasSuffix(t.Name(), "/java-virtual") {
			t.Skip("-args -all asks it, too")
		}
		hurry(m)
		ask(t, m, database)
	})
}
