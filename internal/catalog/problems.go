package catalog

import "fmt"

// maxProblems bounds what is kept about one server, so that a hostile listing
// cannot fill memory or a status page with complaints about itself.
const maxProblems = 100

// problems collects what is wrong with a server's listing.
type problems struct {
	list []string
	more int
}

func (p *problems) add(format string, args ...any) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, fmt.Sprintf(format, args...))
		return
	}
	p.more++
}

// all returns the problems, with a last line for those that were not kept.
func (p *problems) all() []string {
	if p.more == 0 {
		return p.list
	}
	return append(p.list[:len(p.list):len(p.list)], fmt.Sprintf("and %d more", p.more))
}

// short returns s, cut where it is too long to be shown.
func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return clip(s, most) + "…"
}

// clip returns the longest prefix of s of at most n bytes that ends between two runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
