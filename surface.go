package durward

// Definition is what a server says of one thing that it offers.
type Definition struct {
	Kind string // tool, prompt, template (of resources) or instructions
	Name string // the server's own; empty for instructions
	Hash string // SHA-256, in hex, of the canonical form of Raw: white space and the order of members do not count
	Raw  []byte // as the server sent it; must not be changed
}

// Surface is what a server offers at one moment, as far as it can be relied on to
// stay: plain resources come and go and are no part of it.
type Surface struct {
	Server      string
	Legacy      bool // what it lists to clients of the legacy era where that differs
	Complete    bool // every list was read to its end
	Definitions []Definition
}
