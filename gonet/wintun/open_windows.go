package wintun

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
	driver "golang.zx2c4.com/wintun"
)

// tunnelType is the kind of adapter that the system shows.
const tunnelType = "GoNet"

// ringBytes is the size of each of the two rings, a power of two. A guess: that of wireguard-go.
const ringBytes = 8 << 20

// Open creates an adapter with a name, or opens the one that is there, and removes it when it is
// closed. mtu is the longest IP packet in bytes. It needs wintun.dll beside the program, and the
// rights of an administrator.
//
// The caller must give the adapter its addresses and the same MTU, as by "netsh interface ipv4 set
// address NAME static 10.9.0.1/24" and "netsh interface ipv4 set subinterface NAME mtu=1420".
func Open(name string, mtu int) (*Adapter, error) {
	if err := check(name, mtu); err != nil {
		return nil, err
	}
	adapter, err := driver.CreateAdapter(name, tunnelType, nil)
	if err != nil {
		return nil, fmt.Errorf("wintun %s: %w", name, explain(err, windows.ERROR_MOD_NOT_FOUND))
	}
	s, err := startSession(adapter)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wintun %s: %w", name, err), adapter.Close())
	}
	return newAdapter(name, mtu, s), nil
}

// rings is the session of an adapter.
type rings struct {
	adapter *driver.Adapter
	driver.Session
	quit windows.Handle // an event that stays set once wake has set it
}

func startSession(adapter *driver.Adapter) (*rings, error) {
	quit, err := windows.CreateEvent(nil, 1, 0, nil) // reset by hand, and not set
	if err != nil {
		return nil, fmt.Errorf("CreateEvent: %w", err)
	}
	s, err := adapter.StartSession(ringBytes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("WintunStartSession: %w", err),
			windows.CloseHandle(quit))
	}
	return &rings{adapter: adapter, Session: s, quit: quit}, nil
}

func (r *rings) receive(b []byte) (int, error) {
	packet, err := r.ReceivePacket()
	switch {
	case errors.Is(err, windows.ERROR_NO_MORE_ITEMS):
		return 0, errEmpty
	case errors.Is(err, windows.ERROR_HANDLE_EOF):
		return 0, fmt.Errorf("the adapter was removed: %w", err)
	case err != nil:
		return 0, err
	}
	defer r.ReleaseReceivePacket(packet)
	if len(packet) <= len(b) {
		copy(b, packet)
	}
	return len(packet), nil
}

func (r *rings) wait() error {
	events := []windows.Handle{r.ReadWaitEvent(), r.quit}
	_, err := windows.WaitForMultipleObjects(events, false, windows.INFINITE)
	return err
}

func (r *rings) wake() error { return windows.SetEvent(r.quit) }

func (r *rings) send(packet []byte) error {
	room, err := r.AllocateSendPacket(len(packet))
	switch {
	case errors.Is(err, windows.ERROR_BUFFER_OVERFLOW):
		return errFull
	case err != nil:
		return err
	}
	copy(room, packet)
	r.SendPacket(room)
	return nil
}

func (r *rings) end() error {
	r.End()
	return errors.Join(r.adapter.Close(), windows.CloseHandle(r.quit))
}
