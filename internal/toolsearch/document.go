package toolsearch

import (
	"strings"

	"durward/internal/wire"
)

// Bounds of what is read of one tool. What is beyond them is not searched.
const (
	maxDescription = 4 << 10 // bytes of one description
	maxParams      = 64      // parameters, nested ones included
	maxNesting     = 3       // levels of parameters
	maxWords       = 400     // words of one field
)

// Document is what is searched of one tool.
type Document struct {
	Name        string // as offered
	Title       string
	Description string
	Params      []string // name and description of each parameter
}

// Read makes a Document of a raw Tool object as a route offers it. What is
// malformed in it is left out.
func Read(tool []byte) Document {
	var d Document
	for name, at := range wire.Members(tool) {
		value := at.Of(tool)
		switch name {
		case "name":
			d.Name, _ = wire.Unquote(value)
		case "title":
			d.Title, _ = wire.Unquote(value)
		case "description":
			d.Description = text(value)
		case "annotations":
			if title, ok := wire.Unquote(wire.Get(value, "title")); ok && d.Title == "" {
				d.Title = title
			}
		case "inputSchema":
			d.params(value, 1)
		}
	}
	return d
}

// text decodes a description up to its bound.
func text(raw []byte) string {
	s, _ := wire.Unquote(raw)
	if len(s) > maxDescription {
		s = strings.ToValidUTF8(s[:maxDescription], "")
	}
	return s
}

// params collects the parameters of a schema.
func (d *Document) params(schema []byte, level int) {
	properties := wire.Get(schema, "properties")
	if len(properties) == 0 || properties[0] != '{' || level > maxNesting {
		return
	}
	for name, at := range wire.Members(properties) {
		if len(d.Params) == maxParams {
			return
		}
		property := at.Of(properties)
		d.Params = append(d.Params, name+" "+text(wire.Get(property, "description")))
		d.params(property, level+1)
		d.params(wire.Get(property, "items"), level+1)
	}
}

// OneLine returns the first sentence or line of a description, at most n bytes.
func OneLine(description string, n int) string {
	s := strings.TrimSpace(description)
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	if len(s) > n {
		s = strings.ToValidUTF8(s[:max(0, n-len("…"))], "") + "…"
	}
	return s
}
