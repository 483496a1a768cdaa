package syntax

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"
)

// What a file may be. A user's file of servers has a few kilobytes; Claude
// Code's, with its history, some megabytes.
const (
	MaxBytes = 16 << 20
	MaxDepth = 128
)

// Kind is the type of a value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number // and what only TOML has: dates and times
	Text
	List
	Object
)

// String names the kind for messages.
func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "an object"}[k]
}

// Node is one value of a file with its place. A table of TOML that is written in
// several pieces is one node at its first place.
type Node struct {
	Kind       Kind
	Start, End int    // byte offsets in the file
	Text       string // of Text: decoded; of Null, Bool and Number: as written
	Members    []Member
	Elems      []*Node
}

// Member is a key of an object with its value.
type Member struct {
	Name       string
	Start, End int // of the key
	Value      *Node
}

// Get returns the value of a key: of the last one if it is there twice, as
// other parsers do. A nil node has no members.
func (n *Node) Get(name string) *Node {
	if i := n.Index(name); i >= 0 {
		return n.Members[i].Value
	}
	return nil
}

// Index returns the place of a key among the members, -1 if it is not there.
func (n *Node) Index(name string) int {
	if n == nil {
		return -1
	}
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Name == name {
			return i
		}
	}
	return -1
}

// At returns the value at the end of a path of keys, nil if there is none.
func (n *Node) At(path []string) *Node {
	for _, name := range path {
		n = n.Get(name)
	}
	return n
}

// Clone copies the objects of a tree, so that keys can be set and deleted.
func (n *Node) Clone() *Node {
	c := *n
	c.Members = slices.Clone(n.Members)
	for i := range c.Members {
		c.Members[i].Value = c.Members[i].Value.Clone()
	}
	return &c
}

// Put sets a key, at the end if it is new.
func (n *Node) Put(name string, value *Node) {
	if i := n.Index(name); i >= 0 {
		n.Members[i].Value = value
		return
	}
	n.Members = append(n.Members, Member{Name: name, Value: value})
}

// Drop deletes a key.
func (n *Node) Drop(name string) {
	if i := n.Index(name); i >= 0 {
		n.Members = slices.Delete(n.Members, i, i+1)
	}
}

// Equal reports whether two trees say the same. Order of keys counts if ordered.
func (n *Node) Equal(o *Node, ordered bool) bool {
	if n == nil || o == nil {
		return n == o
	}
	if n.Kind != o.Kind || n.Text != o.Text || len(n.Members) != len(o.Members) || len(n.Elems) != len(o.Elems) {
		return false
	}
	for i := range n.Elems {
		if !n.Elems[i].Equal(o.Elems[i], ordered) {
			return false
		}
	}
	a, b := n.Members, o.Members
	if !ordered {
		a, b = byName(a), byName(b)
	}
	for i := range a {
		if a[i].Name != b[i].Name || !a[i].Value.Equal(b[i].Value, ordered) {
			return false
		}
	}
	return true
}

func byName(ms []Member) []Member {
	out := slices.Clone(ms)
	slices.SortStableFunc(out, func(a, b Member) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return out
}

// Str returns the text of a node, empty if it is no text.
func (n *Node) Str() string {
	if n == nil || n.Kind != Text {
		return ""
	}
	return n.Text
}

// Is reports whether a node is this truth value.
func (n *Node) Is(value bool) bool {
	return n != nil && n.Kind == Bool && n.Text == strconv.FormatBool(value)
}

// Holds reports whether a list holds a text.
func (n *Node) Holds(text string) bool {
	return n != nil && slices.ContainsFunc(n.Elems, func(e *Node) bool { return e.Kind == Text && e.Text == text })
}

// Code is the machine-readable class of a fault.
type Code string

// The codes.
const (
	CodeSize     Code = "E_SIZE"     // larger or deeper than permitted
	CodeEncoding Code = "E_ENCODING" // not UTF-8
	CodeSyntax   Code = "E_SYNTAX"   // not JSON or not TOML
	CodeEmpty    Code = "E_EMPTY"    // nothing in it
)

// Fault is why a text is not JSON or TOML, and where. The message says what to
// do and holds no value of the text.
type Fault struct {
	Code    Code
	Offset  int
	Message string
}

// Lines finds positions in a text.
type Lines struct {
	data   []byte
	starts []int // offset of each line
	counts []int // characters before each block of the text
}

// block is how many bytes are counted at a time, so that a position in a file
// that is one long line is found quickly too.
const block = 4096

// NewLines returns the lines of a text.
func NewLines(data []byte) Lines {
	l := Lines{data: data, starts: []int{0}}
	characters := 0
	for i, c := range data {
		if i%block == 0 {
			l.counts = append(l.counts, characters)
		}
		if c&0xC0 != 0x80 { // not the continuation of a character
			characters++
		}
		if c == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// characters counts the characters before an offset.
func (l Lines) characters(offset int) int {
	if len(l.data) == 0 {
		return 0
	}
	b := min(offset/block, len(l.counts)-1)
	n := l.counts[b]
	for _, c := range l.data[b*block : offset] {
		if c&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// Position returns line and column of an offset, both from 1, the column in
// characters.
func (l Lines) Position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(l.data))
	line = sort.SearchInts(l.starts, offset+1)
	return line, l.characters(offset) - l.characters(l.starts[line-1]) + 1
}

// Format is the syntax of a file.
type Format uint8

// The formats.
const (
	JSON Format = iota // with comments and trailing commas
	TOML
)

// Parse reads a file; without a tree there is a fault.
func Parse(f Format, data []byte) (*Node, *Fault) {
	if bad := checkText(data); bad != nil {
		return nil, bad
	}
	if f == TOML {
		doc, bad := parseTOML(data)
		if bad != nil {
			return nil, bad
		}
		return doc.root, nil
	}
	return parseJSON(data)
}

// checkText refuses what is too large or no UTF-8.
func checkText(data []byte) *Fault {
	if len(data) > MaxBytes {
		return &Fault{CodeSize, 0, "the file is larger than the limit of 16 MiB; it is hardly a list of servers"}
	}
	if len(data) >= 2 && (data[0] == 0xFF && data[1] == 0xFE || data[0] == 0xFE && data[1] == 0xFF) {
		return &Fault{CodeEncoding, 0, "the file is UTF-16; save it as UTF-8"}
	}
	if utf8.Valid(data) {
		return nil
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return &Fault{CodeEncoding, i, "this byte is not UTF-8; save the file as UTF-8"}
		}
		i += size
	}
	return nil
}

// withoutMark puts spaces in place of the mark that some editors write at the
// start of a UTF-8 file, so that parsers accept it and offsets stay.
func withoutMark(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return data
	}
	return append([]byte("   "), data[3:]...)
}
