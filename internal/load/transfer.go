package load

// The transfer protocol: what a stack of a network carries, one message for each connection or as
// much as it can.

import (
	"errors"
	"fmt"

	"interleave/internal/manifest"
)

func init() {
	speak(manifest.Transfer, protocol{
		family: transferFamily,
		shapes: []manifest.Shape{manifest.Transfers, manifest.Bulk},
		validate: func(p *Plan) error {
			if err := p.noPipeline(); err != nil {
				return err
			}
			if p.Load.Shape == manifest.Bulk {
				return p.validateBulk()
			}
			return p.validateSize(1)
		},
		prepare: func(p *Plan) (job, error) {
			if p.Load.Shape == manifest.Bulk {
				return independent(newBulk), nil
			}
			return independent(newTransfers), nil
		},
		offer: offerTransfers,
	})
}

func (p *Plan) validateBulk() error {
	switch l := &p.Load; {
	case l.Direction != "in" && l.Direction != "out":
		return fmt.Errorf("direction is %q, want in or out", l.Direction)
	case l.Requests > 0 || p.Window == 0:
		return errors.New("bulk ends with the window: it has no requests")
	case p.Addr.Port() == 1<<16-1:
		return errors.New("addr has the last port, but bulk needs the next one too")
	}
	return nil
}

// transfer is the codec: the bytes of a message are those of an echo's, and nothing comes back.
type transfer struct{ *echo }

func (transfer) check(*conn, []byte) (int, string) { return 0, Extra }

func newTransfers(w *worker) driver {
	return newTurns(requests{base: base{w}, codec: transfer{newEcho(w.plan)}, replies: true}, true)
}
