package ledger

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"durward"
	"durward/internal/private"
)

const (
	keyOp         = "ledger key"
	keyFileMost   = 64 << 10 // bytes
	verifiersMost = 16 << 20 // bytes: a new key every hour for twenty years
)

// pubHead explains the file of verifiers to who opens it.
const pubHead = "# Who checks the ledger's checkpoints needs one of these; they are no secrets.\n" +
	"# The last line is the key in use, the others were rotated away or lost.\n"

// instanceKey signs checkpoints. Its text is a secret: whoever has it can forge them.
type instanceKey struct {
	text     string // in the form of sumdb/note, "PRIVATE+KEY+…"
	signer   note.Signer
	verifier string // the public half, which nobody needs to hide
}

// newKey makes a key. The origin stays the same when a key is rotated.
func newKey(origin string) (*instanceKey, error) {
	text, _, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return nil, durward.Errorf(durward.Internal, keyOp, "no key can be made: %w", err)
	}
	return parseKey(text)
}

// newOrigin names an instance: what it signs begins with that.
func newOrigin() string {
	var b [8]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return "durward-" + hex.EncodeToString(b[:])
}

// parseKey reads the text of a key. The error never quotes it.
func parseKey(text string) (*instanceKey, error) {
	text = strings.TrimSpace(text)
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, errNoKey()
	}
	// NewSigner has checked the form: the fifth field is the algorithm's number and the seed.
	raw, err := base64.StdEncoding.DecodeString(strings.SplitN(text, "+", 5)[4])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return nil, errNoKey()
	}
	public, ok := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return nil, durward.Errorf(durward.Internal, keyOp, "a key without its public half")
	}
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "", "the key has no usable name: %w", err)
	}
	return &instanceKey{text: text, signer: signer, verifier: verifier}, nil
}

func errNoKey() error {
	return durward.Errorf(durward.Invalid, "", "it holds no ed25519 key in the form PRIVATE+KEY+NAME+HASH+DATA")
}

// readKey reads the key at path; the error is [fs.ErrNotExist] if there is none.
func readKey(path string) (*instanceKey, error) {
	data, err := private.Read(path, keyFileMost)
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyOp, "%w", err)
	}
	k, err := parseKey(string(data))
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, keyOp, "%s: %w; put the key back from a backup, or remove the file to have a new one made: that will be on record, and checkpoints of the lost key need its verifier", path, err)
	}
	return k, nil
}

// nextKeyPath is where a key is while the rotation to it is under way.
func nextKeyPath(path string) string { return path + ".next" }

// VerifiersPath returns the path of the file of verifiers beside a key.
func VerifiersPath(key string) string { return key + ".pub" }

// Verifiers returns the public keys, in the text form of golang.org/x/mod/sumdb/note,
// with which this instance has signed checkpoints: the last is the one in use. The
// path is that of the key, which need not be there. The file can be changed by
// whoever can change the checkpoints: who wants to be sure keeps a copy elsewhere.
func Verifiers(key string) ([]string, error) {
	path := VerifiersPath(key)
	data, err := private.Read(path, verifiersMost)
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyOp, "the verifiers: %w", err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err := note.NewVerifier(line); err != nil {
			return nil, durward.Errorf(durward.Invalid, keyOp, "%s: a line is no verifier (%w); remove it", path, err)
		}
		all = append(all, line)
	}
	return all, nil
}

// publish puts a verifier last in the file of verifiers.
func publish(key, verifier string) error {
	all, err := Verifiers(key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(all) > 0 && all[len(all)-1] == verifier {
		return nil
	}
	all = append(slices.DeleteFunc(all, func(v string) bool { return v == verifier }), verifier)
	if err := private.Replace(VerifiersPath(key), []byte(pubHead+strings.Join(all, "\n")+"\n")); err != nil {
		return durward.Errorf(durward.KindOf(err), keyOp, "the verifiers: %w", err)
	}
	return nil
}

// settleKey returns the key to sign with and makes one if there is none. A
// rotation that a crash interrupted is finished if the checkpoints have it, and
// else it never was.
func settleKey(path string, s *sheet) (k *instanceKey, fresh bool, err error) {
	next, err := readKey(nextKeyPath(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && durward.KindOf(err) != durward.Invalid {
		return nil, false, err
	}
	if next != nil && s.rotatedTo(next.verifier) {
		return next, false, installNext(path, next)
	}
	if err := os.Remove(nextKeyPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, durward.Errorf(durward.Unavailable, keyOp, "a rotation that was given up: %w", err)
	}
	k, err = readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		fresh = true
		k, err = createKey(path)
	}
	if err != nil {
		return nil, false, err
	}
	return k, fresh, publish(path, k.verifier)
}

func createKey(path string) (*instanceKey, error) {
	k, err := newKey(newOrigin())
	if err != nil {
		return nil, err
	}
	if err := private.Create(path, []byte(k.text+"\n")); err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyOp, "%w", err)
	}
	return k, nil
}

// installNext puts a key in the place of the one before it.
func installNext(path string, next *instanceKey) error {
	if err := publish(path, next.verifier); err != nil {
		return err
	}
	if err := private.Replace(path, []byte(next.text+"\n")); err != nil {
		return durward.Errorf(durward.KindOf(err), keyOp, "%w", err)
	}
	if err := os.Remove(nextKeyPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durward.Errorf(durward.Unavailable, keyOp, "the copy of the new key: %w", err)
	}
	return nil
}

// RotateKey has a new key sign from now on. It writes on record, in the ledger and
// in an entry that both keys sign, that the new one took over; with the verifier of
// either everything can be checked. The old key is not kept. It returns the
// verifier of the new key. What a crash interrupts is finished by the next
// [OpenCheckpoints] if the entry was written, and else did not happen.
func (c *Checkpoints) RotateKey(ctx context.Context) (verifier string, err error) {
	old := c.Verifier()
	origin, _, _ := strings.Cut(old, "+")
	next, err := newKey(origin)
	if err != nil {
		return "", err
	}
	detail := "old " + old + ", new " + next.verifier
	if err := c.opt.Note(ctx, &Note{At: micro(c.opt.Now()), What: "key rotated", Detail: detail}); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old != c.key.verifier {
		return "", durward.Errorf(durward.Conflict, keyOp, "somebody else rotated the key meanwhile")
	}
	if !c.installed { // where the next key goes is the only copy of this one
		if err := c.install(); err != nil {
			return "", err
		}
	}
	if err := private.Replace(nextKeyPath(c.opt.Key), []byte(next.text+"\n")); err != nil {
		return "", durward.Errorf(durward.KindOf(err), keyOp, "%w", err)
	}
	e := &entry{Checkpoint: c.here(c.opt.Head()), kind: entryRotated, old: old, new: next.verifier}
	if err := c.put(ctx, e, next.signer); err != nil {
		return "", err
	}
	c.key = next
	return next.verifier, c.install()
}

// install puts the key in use in the place of the one before it. mu is held.
func (c *Checkpoints) install() error {
	err := installNext(c.opt.Key, c.key)
	c.installed = err == nil
	return err
}
