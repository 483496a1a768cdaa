package launch

// Ring gives the tests the buffer of stderr with any size.
type Ring struct{ r ring }

// NewRing makes a ring of max bytes.
func NewRing(max int) *Ring { return &Ring{ring{max: max}} }

// Write appends.
func (r *Ring) Write(b []byte) { r.r.write(b) }

// Bytes returns what is kept.
func (r *Ring) Bytes() []byte { return r.r.bytes() }
