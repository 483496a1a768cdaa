package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"durward"
	"durward/internal/reveal"
)

// content is one block of a result, of any kind.
type content struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	Data     string          `json:"data"`
	MIMEType string          `json:"mimeType"`
	URI      string          `json:"uri"`
	Name     string          `json:"name"`
	Blob     string          `json:"blob"`
	Resource json.RawMessage `json:"resource"`
}

// printResult shows the result of a tool, a prompt or a resource. Binary content
// becomes files in dir.
func printResult(std Streams, raw json.RawMessage, dir string) error {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		Contents   []json.RawMessage `json:"contents"` // of a resource
		Messages   []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"` // of a prompt
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return printLine(std, string(raw))
	}
	for _, block := range append(r.Content, r.Contents...) {
		if err := printContent(std, block, dir); err != nil {
			return err
		}
	}
	for _, m := range r.Messages {
		if err := printLine(std, paint(std.Out, bold, reveal.Text(m.Role)+":")); err != nil {
			return err
		}
		if err := printContent(std, m.Content, dir); err != nil {
			return err
		}
	}
	switch {
	case len(r.Content)+len(r.Contents)+len(r.Messages) > 0:
		return nil
	case r.Structured != nil:
		return printLine(std, indented(r.Structured))
	case r.Content != nil || r.Contents != nil || r.Messages != nil:
		return nil
	default: // a result of a kind this version does not know
		return printLine(std, indented(raw))
	}
}

func printLine(std Streams, text string) error {
	_, err := fmt.Fprintln(std.Out, strings.TrimSuffix(text, "\n"))
	return err
}

func printContent(std Streams, raw json.RawMessage, dir string) error {
	var c content
	if err := json.Unmarshal(raw, &c); err != nil {
		return printLine(std, string(raw))
	}
	switch {
	case c.Type == "resource" && c.Resource != nil:
		return printContent(std, c.Resource, dir)
	case c.Type == "resource_link":
		return printLine(std, reveal.Text(strings.TrimSpace(c.Name+"  "+c.URI)))
	case c.Data != "":
		return saveContent(std, &c, c.Data, dir)
	case c.Blob != "":
		return saveContent(std, &c, c.Blob, dir)
	case c.Text != nil:
		return printLine(std, shown(std, *c.Text))
	default:
		return printLine(std, indented(raw))
	}
}

// shown is a foreign text for a stream: a terminal is not to be steered by it, a
// file gets it as it is.
func shown(std Streams, text string) string {
	if isTerminal(std.Out) {
		return reveal.Text(text)
	}
	return text
}

// saveContent writes binary content to a new file and prints its path.
func saveContent(std Streams, c *content, data, dir string) error {
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return durward.Errorf(durward.Invalid, "", "the server sent %s content that is no base64: %w", c.MIMEType, err)
	}
	f, err := os.CreateTemp(dir, "durward-*"+extension(c.MIMEType)) // 0600
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the content cannot be saved: %w", err)
	}
	_, err = f.Write(decoded)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the content cannot be saved: %w", err)
	}
	return printLine(std, fmt.Sprintf("%s (%s, %d bytes)", f.Name(), reveal.Text(c.MIMEType), len(decoded)))
}

// extension is the usual one of a media type. Types that are not known get none
// that a desktop would run.
func extension(mediaType string) string {
	media, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	known := map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg.txt",
		"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
		"video/mp4": ".mp4", "application/pdf": ".pdf", "application/json": ".json", "text/plain": ".txt", "application/zip": ".zip",
		"application/gzip": ".gz",
	}
	if ext, ok := known[strings.TrimSpace(media)]; ok {
		return ext
	}
	return ".bin"
}
