package seal

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"durward"
	"durward/internal/private"
)

// MaxKeys bounds the keys of a ring that somebody configures: one seals, and each
// other one is a rotation that is still remembered.
const MaxKeys = 8

const (
	keyFileOp   = "key file"
	keyFileMost = 16 << 10 // bytes: MaxKeys lines and room for comments
	lockWait    = time.Minute
)

// keyFileHead explains the file to who opens it.
const keyFileHead = "# Keys that seal what clients carry for Durward: the first seals, all open.\n" +
	"# durward keys rotate puts a new one in front and keeps the one before it.\n"

// FileKey is a key of a key file.
type FileKey struct {
	Key     durward.SealKey
	Created time.Time // UTC, to the second; zero if the file does not say
}

// LoadFile reads the key file at path, making it first, with one key, if there is
// none. It refuses one that is no regular file, that others may read or write, or
// that belongs to somebody else (kind Denied), and one that holds anything but
// keys, 1 to MaxKeys (Invalid); the error never quotes it. Several processes may
// call it at once and get the same keys.
func LoadFile(path string) ([]durward.SealKey, error) {
	for range 2 {
		keys, err := ListFile(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return secrets(keys), err
		}
		if err := private.Create(path, keyFile(newFileKey())); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, durward.Errorf(durward.KindOf(err), keyFileOp, "%w", err)
		}
	}
	return nil, durward.Errorf(durward.Unavailable, keyFileOp, "%s comes and goes", path)
}

// ListFile is [LoadFile] that makes no file (the error is [fs.ErrNotExist], of
// kind Unavailable, if there is none) and tells how old the keys are.
func ListFile(path string) ([]FileKey, error) {
	data, err := private.Read(path, keyFileMost)
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyFileOp, "%w", err)
	}
	keys, err := parseKeyFile(string(data))
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyFileOp, "%s: %w; remove the file to have one made: what was sealed is void then", path, err)
	}
	return keys, nil
}

// RotateFile puts a new key in front of the key file, keeps the one that sealed
// until then, and drops older ones: what was sealed before the last rotation but
// one does not open any more. Where there is no file it makes one with one key.
// Comments are not kept. Processes that rotate at once take turns.
func RotateFile(path string) (keys []durward.SealKey, err error) {
	unlock, err := private.Lock(path+".lock", lockWait)
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyFileOp, "%w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := ListFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return LoadFile(path) // nothing was sealed yet
	}
	if err != nil {
		return nil, err
	}
	rotated := []FileKey{newFileKey(), old[0]}
	if err := private.Replace(path, keyFile(rotated...)); err != nil {
		return nil, durward.Errorf(durward.KindOf(err), keyFileOp, "%w", err)
	}
	return secrets(rotated), nil
}

func newFileKey() FileKey {
	return FileKey{Key: durward.NewSealKey(), Created: time.Now().UTC().Truncate(time.Second)}
}

func secrets(keys []FileKey) []durward.SealKey {
	var out []durward.SealKey
	for _, k := range keys {
		out = append(out, k.Key)
	}
	return out
}

// keyFile writes keys, one a line with its date behind it.
func keyFile(keys ...FileKey) []byte {
	var b strings.Builder
	b.WriteString(keyFileHead)
	for _, k := range keys {
		b.WriteString(k.Key.Reveal())
		if !k.Created.IsZero() {
			b.WriteString(" " + k.Created.Format(time.RFC3339))
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// parseKeyFile reads a key a line, which a date (2026-07-28, or with the time, RFC
// 3339) and a comment, from # to the end of the line, may follow.
func parseKeyFile(text string) ([]FileKey, error) {
	var keys []FileKey
	lines := map[string]int{} // where each key stands
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		k, err := parseFileKey(words)
		if err != nil {
			return nil, durward.Errorf(durward.Invalid, "", "line %d: %w", i+1, err)
		}
		if other := lines[k.Key.Reveal()]; other > 0 {
			return nil, durward.Errorf(durward.Invalid, "", "line %d: it is the key of line %d", i+1, other)
		}
		lines[k.Key.Reveal()] = i + 1
		keys = append(keys, k)
	}
	if len(keys) == 0 || len(keys) > MaxKeys {
		return nil, durward.Errorf(durward.Invalid, "", "it holds %d keys; there are 1 to %d", len(keys), MaxKeys)
	}
	return keys, nil
}

func parseFileKey(words []string) (k FileKey, err error) {
	if k.Key, err = durward.ParseSealKey(words[0]); err != nil {
		return FileKey{}, err
	}
	switch len(words) {
	case 1:
		return k, nil
	case 2:
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if at, err := time.Parse(layout, words[1]); err == nil && at.Year() > 0 {
				k.Created = at.UTC().Truncate(time.Second)
				return k, nil
			}
		}
	}
	return FileKey{}, errDate
}

var errDate = errors.New("behind the key may stand a date such as 2026-07-28 and nothing else")
