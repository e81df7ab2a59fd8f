package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"interleave/papaya/hall"
)

// orderTime bounds the wait for an order. A guess.
const orderTime = 20 * time.Second

// erase is the verb that removes the messages of a room.
const erase = "erase"

// chat handles requests about sessions and rooms.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	q, ok := parse(w, r)
	if !ok {
		return
	}
	ctx, verb := r.Context(), r.PathValue("verb")
	if verb != erase { // which takes as long as the text is
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, orderTime)
		defer cancel()
	}
	a, err := s.order(ctx, verb, append(q.Words, "", "", "")[:3])
	if err != nil {
		a.Error = err.Error()
	}
	s.Logger.Info("admin", "verb", verb, "words", strings.Join(q.Words, " "), "error", a.Error)
	reply(w, a)
}

// order gives an order to the chat. It first checks that the nick, account or room exists, because
// the hall ignores an order that has nothing to do.
func (s *Server) order(ctx context.Context, verb string, words []string) (a answer, err error) {
	if s.Chat == nil {
		return a, errors.New("this server has no chat")
	}
	switch verb {
	case "sessions":
		a.Sessions, err = s.Chat.Sessions(ctx)
		return a, err
	case "rooms":
		a.Rooms, err = s.Chat.Rooms(ctx)
		return a, err
	case hall.EndNick, hall.EndAccount:
		err = s.someone(ctx, verb, words[0])
	case hall.KickMember, hall.RemoveRoom:
		err = s.somewhere(ctx, words[0])
	case erase:
		if s.Erase == nil {
			return a, errors.New("this server stores no messages")
		}
		a.Lines, err = s.Erase(ctx, words[0])
		return a, err
	default:
		return a, fmt.Errorf("no verb %.40q", verb)
	}
	if err != nil {
		return a, err
	}
	if verb != hall.KickMember {
		words = words[:2]
	}
	return a, s.Chat.Order(ctx, verb, words...)
}

func (s *Server) someone(ctx context.Context, verb, name string) error {
	list, err := s.Chat.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, there := range list {
		if verb == hall.EndNick && strings.EqualFold(there.Nick, name) || verb == hall.EndAccount &&
			strings.EqualFold(there.Account, name) {
			return nil
		}
	}
	return fmt.Errorf("%s is not here", name)
}

func (s *Server) somewhere(ctx context.Context, room string) error {
	list, err := s.Chat.Rooms(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if strings.EqualFold(r.Name, room) {
			return nil
		}
	}
	return fmt.Errorf("there is no room %s", room)
}

// Sessions lists the connected users.
func (c *Client) Sessions(ctx context.Context) ([]hall.Session, error) {
	a, err := c.post(ctx, "/chat/sessions", request{})
	return a.Sessions, err
}

// Rooms lists the rooms.
func (c *Client) Rooms(ctx context.Context) ([]hall.Room, error) {
	a, err := c.post(ctx, "/chat/rooms", request{})
	return a.Rooms, err
}

// Order gives an order to the server: hall.EndNick, EndAccount, KickMember or RemoveRoom.
func (c *Client) Order(ctx context.Context, verb string, words ...string) error {
	_, err := c.post(ctx, "/chat/"+verb, request{Words: words})
	return err
}

// Erase removes the messages of a room, and returns their number.
func (c *Client) Erase(ctx context.Context, room string) (int, error) {
	a, err := c.post(ctx, "/chat/erase", request{Words: []string{room}})
	return a.Lines, err
}
