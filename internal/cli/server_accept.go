package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"durward"
	"durward/client"
	"durward/internal/pin"
	"durward/internal/reveal"
)

// mostExplained bounds for how many tools it is told what the rules say.
const mostExplained = 200

// acceptServer shows a server that was just added and accepts what it offers: at
// a terminal after a question, elsewhere because the owner added it knowingly.
func acceptServer(ctx context.Context, service *client.Client, added *client.Server, opt serverAddOptions, std Streams) error {
	name := added.Status.Name
	d, someone := (*dialogue)(nil), false
	up := added.Status.State == durward.StateReady || added.Status.State == durward.StateDegraded
	if up && !opt.yes && !opt.look && !opt.json {
		if d, someone = openDialogue(std); someone {
			defer d.close()
		}
	}
	warnings := warningsOf(ctx, service, name) // of what is accepted soon they are not told any more
	said := "nothing of it is accepted yet; see: durward pins diff " + name
	switch {
	case !up:
		said = "nothing of it was seen yet; what it offers first will be recorded, and can be accepted with: durward pins accept " + name
	case !opt.look && !someone:
		said = accepted(ctx, name)
		if shown, err := service.Server(ctx, name); err == nil {
			added = shown // what was accepted is believed: risks are others now
		}
	}
	if opt.json {
		return printJSON(std.Out, added)
	}
	if err := printAdded(ctx, service, added, warnings, std); err != nil {
		return err
	}
	if someone {
		answer, err := d.line("accept what it offers as it is now? [Y/n] ", false)
		if err != nil {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a == "" || a == "y" || a == "yes" {
			said = accepted(ctx, name)
		}
	}
	_, err := fmt.Fprintln(std.Out, said)
	return err
}

// accepted accepts all that a server offers now and says what that was. That it
// could not is no failure of adding the server.
func accepted(ctx context.Context, name string) string {
	why := func(err error) string {
		return fmt.Sprintf("what it offers was not accepted: %s; see: durward pins diff %s", reveal.Text(err.Error()), name)
	}
	service, err := approverAPI(ctx)
	if err != nil {
		return why(err)
	}
	chosen, err := choose(ctx, service, name, nil, true)
	if err != nil {
		return why(err)
	}
	if len(chosen) > 0 {
		if _, err := decidePins(ctx, service, name, chosen, true); err != nil {
			return why(err)
		}
	}
	counts := map[string]int{}
	for i := range chosen {
		counts[chosen[i].Kind]++
	}
	var parts []string
	for _, kind := range []string{pin.KindTool, pin.KindPrompt, pin.KindTemplate} {
		switch n := counts[kind]; {
		case n == 1:
			parts = append(parts, "1 "+kind)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, kind))
		}
	}
	if counts[pin.KindInstructions] > 0 {
		parts = append(parts, "its instructions")
	}
	if len(parts) == 0 {
		return "it offers nothing that could be accepted"
	}
	return "accepted as they are now: " + strings.Join(parts, ", ") + "; what changes is held until it is accepted (durward pins)"
}

// printAdded shows a server, each tool with its risk and what the rules say of it,
// and what of it a reader would not see.
func printAdded(ctx context.Context, service *client.Client, s *client.Server, warnings []string, std Streams) error {
	tools := s.Tools
	s.Tools = nil
	if err := printServer(std, s); err != nil {
		return err
	}
	if err := printTools(ctx, service, std.Out, tools); err != nil {
		return err
	}
	for _, text := range warnings {
		if _, err := fmt.Fprintln(std.Out, "  "+paint(std.Out, red, "warning: "+text)); err != nil {
			return err
		}
	}
	return nil
}

// warningsOf says what of a new server a reader would not see. A service that keeps
// no pins has none to give.
func warningsOf(ctx context.Context, service *client.Client, server string) []string {
	diffs, err := service.PinDiffs(ctx, server, "")
	if err != nil {
		return nil
	}
	var all []string
	for i := range diffs.Diffs {
		d := &diffs.Diffs[i]
		for _, text := range d.Warnings {
			all = append(all, strings.TrimSpace(d.Kind+" "+reveal.Line(d.Name))+": "+reveal.Line(text))
		}
	}
	return all
}

// printTools lists tools with their risk and what would come of a call.
func printTools(ctx context.Context, service *client.Client, w io.Writer, tools []client.Item) error {
	rows := make([][]cell, 0, len(tools))
	for i := range tools {
		t := &tools[i]
		risk, would := t.Risk, ""
		if i < mostExplained {
			if x, err := service.ExplainPolicy(ctx, client.ExplainRequest{Server: t.Server, Tool: t.Native}); err == nil {
				risk, would = x.Risk, wouldBe(x)
			}
		}
		rows = append(rows, []cell{
			{text: "  " + reveal.Line(t.Name)}, {text: risk, colour: riskColour(risk)}, {text: would}, {text: description(t, 80)},
		})
	}
	return newTable(w).print(rows)
}

// wouldBe says what would come of a call.
func wouldBe(x *client.Explanation) string {
	switch x.Action {
	case durward.Allow.String():
		return "allowed"
	case durward.Ask.String():
		return "asks first"
	default:
		return "blocked"
	}
}

func riskColour(risk string) string {
	switch risk {
	case durward.RiskCritical.String():
		return red
	case durward.RiskLow.String():
		return green
	default:
		return yellow
	}
}
