package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"durward/client"
	"durward/internal/reveal"
)

// description is the first line of what an item says of itself.
func description(it *client.Item, limit int) string {
	var said struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(it.Raw, &said) // a foreign item may say anything; then it says nothing here
	if said.Description == "" {
		said.Description = said.Title
	}
	text, _, _ := strings.Cut(strings.TrimSpace(said.Description), "\n")
	return cut(reveal.Line(strings.TrimSpace(text)), limit)
}

// printItems lists items, one a line.
func printItems(w io.Writer, items []client.Item) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i := range items {
		_, _ = fmt.Fprintf(table, "  %s\t%s\n", reveal.Line(items[i].Name), description(&items[i], 80))
	}
	return table.Flush() // the writer keeps the first error
}

// indented is JSON for people to read; what is no JSON comes back as it is.
func indented(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}
