package account

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// The devices of an account log in one after the other when the server has been restarted, and
// again whenever a network is lost. A password that was right a short time ago is so not hashed
// again: of the devices of an account only the first one waits for a hash.
//
// What is remembered is an HMAC-SHA256 of the name, the password and the stored hash of argon2id.
// Its key is random and is in the memory of this process only. The stored hash is part of it, so a
// password is not remembered any more when the account has another one, or is removed. To forget
// passwords is to erase their key. Whoever reads the memory of the process while the key is there
// guesses passwords at the cost of a SHA-256; such a reader also sees passwords as they arrive.

// A password is remembered for at least rememberFor after its hash was computed, and for twice that
// at most. A use does not lengthen the time. A guess: a restart is over by then.
const rememberFor = 5 * time.Minute

// maxRemembered bounds the passwords of one key: 16,384 of them take about 1 MB.
const maxRemembered = 16_384

// rightPasswords are the passwords that were right a short time ago. Any goroutine may use it.
type rightPasswords struct {
	mu          sync.Mutex
	now, before remembered
	ages        bool // the timer of age runs
}

// remembered are the passwords of one key. The zero value has none.
type remembered struct {
	key  []byte
	sums map[[sha256.Size]byte]bool
}

func (r *remembered) sum(k checkKey) [sha256.Size]byte {
	// The lengths say where each part ends.
	return [sha256.Size]byte(mac(r.key, fmt.Sprintf("%d %d %s%s%s", len(k.name), len(k.hash),
		k.name, k.hash, k.password)))
}

func (r *remembered) has(k checkKey) bool { return len(r.sums) > 0 && r.sums[r.sum(k)] }

// has says whether a password was right a short time ago.
func (p *rightPasswords) has(k checkKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.has(k) || p.before.has(k)
}

// add remembers a password whose hash was computed and is right.
func (p *rightPasswords) add(k checkKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.key == nil {
		p.now = remembered{make([]byte, sha256.Size), map[[sha256.Size]byte]bool{}}
		_, _ = rand.Read(p.now.key) // crypto/rand never returns an error
	}
	if len(p.now.sums) >= maxRemembered {
		return
	}
	p.now.sums[p.now.sum(k)] = true
	if !p.ages {
		p.ages = true
		time.AfterFunc(rememberFor, p.age)
	}
}

// age forgets the older passwords, and makes the newer ones the older. It goes on while there are
// any.
func (p *rightPasswords) age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.before.key)
	p.before, p.now = p.now, remembered{}
	if p.ages = p.before.key != nil; p.ages {
		time.AfterFunc(rememberFor, p.age)
	}
}
