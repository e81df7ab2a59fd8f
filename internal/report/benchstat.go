package report

// The run in the Go benchmark format, for benchstat and everything else that reads it: one line a
// cell, so that benchstat sees rounds as samples.

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"interleave/internal/manifest"
	"interleave/internal/record"
)

// benchUnits are the metrics in the order of a line; the format has no spaces in units.
var benchUnits = []struct {
	metric manifest.Metric
	unit   string
}{
	{manifest.Throughput, "req/s"}, {manifest.SolveTime, "ms/solve"},
	{manifest.CPUPerRequest, "us-cpu/req"}, {manifest.CPU, "%core"},
	{manifest.CPUVariation, "cv-cpu"},
	{manifest.LatencyP50, "us-p50"}, {manifest.LatencyP99, "us-p99"},
	{manifest.Jitter, "us-jitter"},
	{manifest.BitRate, "bit/s"}, {manifest.CPUPerGB, "s-cpu/GB"}, {manifest.Loss, "%lost"},
	{manifest.MemoryGrowth, "x-memory"},
	{manifest.Deliveries, "deliveries/s"}, {manifest.CPUPerDelivery, "us-cpu/delivery"},
	{manifest.AckP50, "us-ack-p50"}, {manifest.AckP99, "us-ack-p99"},
	{manifest.ClientMemory, "pss-bytes/client"}, {manifest.KernelMemory, "kernel-bytes/client"},
	{manifest.Settling, "x-settling"},
	{manifest.PSS, "pss-bytes"}, {manifest.Threads, "threads"}, {manifest.Switches, "switches/req"},
}

// Benchstat writes the measured cells of a run as Go benchmark lines; cells that are void or failed
// are left out, as in every figure.
func Benchstat(w io.Writer, run Run) error {
	b := bufio.NewWriter(w)
	h := run.Header
	fmt.Fprintf(b, "goos: linux\n")
	config := func(key, value string) {
		if value = strings.Join(strings.Fields(value), " "); value != "" {
			fmt.Fprintf(b, "%s: %s\n", key, value)
		}
	}
	config("cpu", h.Machine.CPU)
	config("cores", fmt.Sprint(h.Machine.Cores))
	config("kernel", h.Machine.Kernel)
	config("run", h.ID)
	config("depth", h.Depth)
	if len(h.Calibration) == 0 {
		config("calibrated", "no")
	}
	for _, u := range benchUnits {
		better := "lower"
		if manifest.Metrics[u.metric].MoreIsBetter {
			better = "higher"
		}
		fmt.Fprintf(b, "Unit %s better=%s\n", u.unit, better)
	}
	experiment := ""
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Status != record.Measured {
			continue
		}
		values := benchValues(c)
		if values == "" {
			continue
		}
		if c.Experiment != experiment {
			experiment = c.Experiment
			config("experiment", experiment)
		}
		fmt.Fprintf(b, "%s 1%s\n", benchName(c), values)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing benchmark lines: %w", err)
	}
	return nil
}

// benchName is Benchmark<Service>/model=.../point=.../condition=...; the baseline's second cell is
// a model of its own, or benchstat would put both into one sample.
func benchName(c *record.Cell) string {
	clean := strings.NewReplacer(" ", "", "/", "_", "\t", "", "\n", "")
	model := c.Model
	if c.Twin {
		model += "-again"
	}
	return fmt.Sprintf("Benchmark%s/model=%s/point=%s/condition=%s",
		capital(clean.Replace(c.Service)), clean.Replace(model), clean.Replace(c.Point),
		c.Condition)
}

func benchValues(c *record.Cell) string {
	var b strings.Builder
	for _, u := range benchUnits {
		if v, ok := c.Metric(u.metric); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			b.WriteString(" " + strconv.FormatFloat(v, 'g', 6, 64) + " " + u.unit)
		}
	}
	return b.String()
}
