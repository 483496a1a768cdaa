package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"durward"
	"durward/internal/wire"
)

// request appends what a module is handed: a JSON object.
func (r *run) request(dst []byte) []byte {
	dst = fmt.Appendf(dst, `{"abi":%d,"stage":"%s"`, abiVersion, r.stage)
	for _, field := range [...]struct{ name, value string }{
		{"method", r.call.Method}, {"server", r.call.Server}, {"name", r.call.Name}, {"principal", r.call.Caller.Principal},
	} {
		dst = append(dst, `,"`+field.name+`":`...)
		dst = wire.AppendQuote(dst, field.value)
	}
	dst = append(dst, `,"payload":`...)
	return append(append(dst, r.now...), '}')
}

// answer is what a module says.
type answer struct {
	Action    string          `json:"action"`    // allow (default), ask or block
	Reason    string          `json:"reason"`    // for the operator; kept, so nothing of the content
	Detection string          `json:"detection"` // none to critical; default medium with findings
	Findings  []answerFinding `json:"findings"`
	Labels    []string        `json:"labels"`
	Payload   json.RawMessage `json:"payload"` // in place of what came; absent: nothing changes
}

type answerFinding struct {
	Kind string `json:"kind"`
}

// Bounds of answers.
const (
	maxAnswerFindings = 10_000
	maxAnswerLabels   = 16
	maxReason         = 256
)

// foreign runs a plugin in WebAssembly. A failure is an error, which blocks the call.
func (r *run) foreign(o *one) error {
	out, err := o.wasm.call(r.ctx, r.request(nil))
	if err == nil {
		var a answer
		if a, err = readAnswer(out); err == nil {
			err = r.apply(o, &a)
		}
	}
	if err != nil {
		r.set.log.Warn("a plugin failed", "plugin", o.name, "stage", r.stage, "server", r.call.Server, "error", err)
		return durward.Errorf(durward.Unavailable, "plugin "+o.name, "%w", err)
	}
	return nil
}

// readAnswer reads what a module said, within bounds.
func readAnswer(out []byte) (a answer, err error) {
	if !wire.Valid(out) {
		return a, durward.Errorf(durward.Invalid, "", "its answer is no valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, durward.Errorf(durward.Invalid, "", "its answer is not understood: %s", clip(err.Error()))
	}
	switch a.Action {
	case "", "allow", "ask", "block":
	default:
		return a, durward.Errorf(durward.Invalid, "", "its action is none of allow, ask, block")
	}
	if len(a.Findings) > maxAnswerFindings || len(a.Labels) > maxAnswerLabels {
		return a, durward.Errorf(durward.Invalid, "", "its answer has more than %d findings or %d labels", maxAnswerFindings, maxAnswerLabels)
	}
	for _, f := range a.Findings {
		if !isLabel(f.Kind) {
			return a, durward.Errorf(durward.Invalid, "", "the kind of a finding is not at most %d of a-z, 0-9, dot, hyphen and underscore", maxLabel)
		}
	}
	for _, l := range a.Labels {
		if !isLabel(l) {
			return a, durward.Errorf(durward.Invalid, "", "a label is not at most %d of a-z, 0-9, dot, hyphen and underscore", maxLabel)
		}
	}
	return a, nil
}

// apply does what a module said, as far as the mode permits: observe changes and
// stops nothing, redact takes the payload, block stops where there are findings.
func (r *run) apply(o *one, a *answer) error {
	r.label(a.Labels...)
	counts := map[string]int{}
	for _, f := range a.Findings {
		counts[f.Kind]++
	}
	effective := o.mode.String()
	if o.mode == redact && a.Payload != nil {
		if err := r.exchange(a.Payload); err != nil {
			return err
		}
		counts["changed"]++
	}
	reason := clip(a.Reason)
	if reason == "" {
		reason = o.name + " found " + counted(counts)
	}
	switch {
	case o.mode == observe:
	case a.Action == "block", o.mode == block && len(a.Findings) > 0:
		effective = "block"
		r.stricter(durward.Block, "plugin", reason)
	case a.Action == "ask" && r.stage == stagePost:
		effective = "block: nobody is asked about results"
		r.stricter(durward.Block, "plugin", reason)
	case a.Action == "ask":
		effective = "ask"
		r.stricter(durward.Ask, "plugin", reason)
	}
	if len(counts) > 0 || effective != o.mode.String() {
		r.match(o, levelOf(a), effective, counted(counts))
	}
	return nil
}

func levelOf(a *answer) Level {
	for l := LevelNone; l <= LevelCritical; l++ {
		if a.Detection == l.String() {
			return l
		}
	}
	if len(a.Findings) > 0 {
		return LevelMedium
	}
	return LevelNone
}

// exchange takes a payload in place of what there is. It must be an object, and a
// request must still go where it went.
func (r *run) exchange(payload []byte) error {
	payload = bytes.TrimSpace(payload)
	if len(payload) == 0 || payload[0] != '{' {
		return durward.Errorf(durward.Invalid, "", "its payload is no JSON object")
	}
	if r.stage == stagePre {
		for name := range wire.Members(payload) {
			if (fixed([]byte(name)) || ownCode([]byte(name))) && !bytes.Equal(wire.Get(payload, name), wire.Get(r.now, name)) {
				return durward.Errorf(durward.Invalid, "", "its payload changes %s, which says where the request goes", clip(name))
			}
		}
		for name := range wire.Members(r.now) {
			if (fixed([]byte(name)) || ownCode([]byte(name))) && !wire.Lookup(payload, name).Present() {
				return durward.Errorf(durward.Invalid, "", "its payload leaves out %s, which says where the request goes", clip(name))
			}
		}
	}
	r.now, r.edited = payload, true
	if !r.kept {
		r.record = payload
		return nil
	}
	return r.recordAgain()
}

// recordAgain makes what is written down anew from what goes on: without what
// secrets and pii find in it.
func (r *run) recordAgain() error {
	n := r.set.inspection()
	defer r.set.release(n)
	n.ctx = r.ctx
	for _, o := range r.list {
		n.want |= o.by & (wantSecrets | wantPII)
	}
	if err := n.run(r.now, false); err != nil {
		return err
	}
	r.record = r.now
	if next := replaced(r.now, n.places, func(p *place) bool { return r.counts(p) }); next != nil {
		r.record = next
	}
	return nil
}

// counts reports whether a finding is of a kind that counts.
func (r *run) counts(p *place) bool {
	for _, o := range r.list {
		if o.by == p.by {
			return o.kinds[p.Kind]
		}
	}
	return false
}

// clip makes a text short and printable: it comes from a plugin.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r > 0x7E && r < 0xA0 || r >= 0x200B && r <= 0x206F || r >= 0xE0000 || r == 0xFEFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// firstLine is an error without the stack of the module.
func firstLine(err error) error {
	if err == nil {
		return errors.New("it returned nothing")
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(clip(first))
}
