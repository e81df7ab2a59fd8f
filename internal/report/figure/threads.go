package figure

// CPU by kernel thread over the logarithm of time, with memory on a second axis: the plot of the
// source of the streams.

import (
	"cmp"
	"math"
	"slices"

	"interleave/internal/quantity"
)

// Threads is the CPU of one server, thread upon thread, and its memory.
type Threads struct {
	Frame
	X      []float64   // seconds since the first connection: the ends of intervals
	Bands  [][]float64 // of each thread: % of a core in each interval
	Names  []string    // of each
	Memory []float64   // bytes, at the end of each interval
	Ramp   float64     // seconds that the connections took to be made
	Span   [2]float64  // the measuring window
	First  float64     // seconds: where the first interval begins
}

// bandHues are the colours of threads, in turn; the rest of a server with very many is grey.
var bandHues = []int{5, 4, 1, 2, 6, 8, 3, 9}

// namedThreads is how many are named above the figure: the busiest; all are in the table, and
// under a pointer.
const namedThreads = 3

// SVG draws it. The thick line is memory, the dashed one the share of the connections that stand.
func (p Threads) SVG(w Width) string {
	c := newCanvas(w, 0)
	names := c.legend(0, p.keys()) + 14
	c.height = names + 268
	a := plot{top: names + 18, bottom: c.height - 46, left: 44, right: float64(w) - 62}
	ex, sum, memory := newExtent(true), newExtent(false), newExtent(false)
	ex.add(p.First)
	ex.add(p.X...)
	totals := make([]float64, len(p.X))
	for _, band := range p.Bands {
		for i, v := range band {
			totals[i] += v
		}
	}
	sum.add(totals...)
	memory.add(p.Memory...)
	a.x = scale{low: ex.low, high: max(ex.high, ex.low*1.01), from: a.left, to: a.right, log: true}
	a.y = sum.fromZero(a.bottom, a.top)
	right := memory.fromZero(a.bottom, a.top)

	c.rect("accept", a.x.at(p.Span[0]), a.top, a.x.at(p.Span[1])-a.x.at(p.Span[0]), a.bottom-a.top)
	c.text("name", "start", 0, names, "server CPU (% of a core)")
	c.text("name", "end", float64(w), names, "memory (RSS)")
	c.axes(a, a.x.fittingTicks(int(float64(w)/90), ""), "", a.y.ticks(4, "% of a core"),
		"% of a core", "seconds since the first connection")
	for _, t := range right.ticks(4, "bytes") {
		c.text("tick", "start", a.right+6, right.at(t)+4, quantity.Tick(t, "bytes"))
	}
	p.bands(c, a)
	c.open("line h7 strong")
	c.title("memory (RSS)")
	line := make([][2]float64, len(p.X))
	for i, x := range p.X {
		line[i] = [2]float64{a.x.at(x), right.at(p.Memory[i])}
	}
	c.path("ln", "", line)
	c.close()
	c.open("line h7")
	c.title("connections that stand")
	c.path("ln", "6 4", p.ramp(a))
	c.close()
	return c.svg(p.Frame)
}

// keys are the lines, the window, and the threads that the most is seen of.
func (p Threads) keys() []key {
	busiest := make([]int, len(p.Bands))
	for n := range busiest {
		busiest[n] = n
	}
	slices.SortStableFunc(busiest,
		func(a, b int) int { return cmp.Compare(sum(p.Bands[b]), sum(p.Bands[a])) })
	var keys []key
	for _, n := range busiest[:min(namedThreads, len(busiest))] {
		if sum(p.Bands[n]) > 0 {
			keys = append(keys, key{p.Names[n], func(c *canvas, x, y float64) {
				c.open(hueClass(p.style(n)))
				c.rect("part", x-8, y-6, 16, 12)
				c.close()
			}})
		}
	}
	line := func(class, dash string) func(c *canvas, x, y float64) {
		return func(c *canvas, x, y float64) {
			c.open(class)
			c.path("ln", dash, [][2]float64{{x - 9, y}, {x + 9, y}})
			c.close()
		}
	}
	return append(keys,
		key{"memory", line("line h7 strong", "")},
		key{"connections made", line("line h7", "6 4")},
		key{"measuring window", func(c *canvas, x, y float64) {
			c.rect("accept", x-9, y-6, 18, 12)
		}})
}

// style is a thread's colour.
func (p Threads) style(n int) Style {
	if n == len(p.Bands)-1 && n >= len(bandHues) {
		return Style{}
	}
	return Style{Hue: bandHues[n%len(bandHues)]}
}

// bands draws the threads from the axis up.
func (p Threads) bands(c *canvas, a plot) {
	base := make([]float64, len(p.X))
	for n, band := range p.Bands {
		var upper, lower [][2]float64
		left := p.First
		for i, x := range p.X { // an interval is as high at its beginning as at its end
			low, high := a.y.at(base[i]), a.y.at(base[i]+band[i])
			upper = append(upper, [2]float64{a.x.at(left), high}, [2]float64{a.x.at(x), high})
			lower = append(lower, [2]float64{a.x.at(left), low}, [2]float64{a.x.at(x), low})
			base[i] += band[i]
			left = x
		}
		c.open(hueClass(p.style(n)))
		c.title(p.Names[n])
		c.area("part", upper, lower)
		c.close()
	}
}

// ramp is the share of the connections that stand, if they come evenly: as high as the
// plot where all do.
func (p Threads) ramp(a plot) [][2]float64 {
	const steps = 24
	var line [][2]float64
	end := max(p.Ramp, p.First)
	for i := range steps + 1 {
		x := p.First * math.Pow(end/p.First, float64(i)/steps)
		line = append(line, [2]float64{a.x.at(x), a.bottom - (a.bottom-a.top)*min(1, x/end)})
	}
	return append(line, [2]float64{a.right, a.top})
}
