package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/pin"
	"durward/internal/reveal"
)

type pinsDecideOptions struct {
	accept    bool
	yes, json bool
}

func newPinsDecide(std Streams, accept bool) *cobra.Command {
	opt := pinsDecideOptions{accept: accept}
	cmd := &cobra.Command{
		Use:   "accept SERVER [NAME…]",
		Short: "Accept what a server offers now",
		Long: "Accept definitions as they are now: all of a server that nobody accepted yet, or those named. What is new in them is shown\n" +
			"first. They reach clients from then on, and what they say of their risk is believed. It takes the approver credential.\n" + exitHelp,
		Example:           "  durward pins accept github\n  durward pins accept github search_code instructions --yes",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: serverNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPinsDecide(cmd.Context(), args[0], args[1:], opt, std)
		},
	}
	if !accept {
		cmd.Use, cmd.Short, cmd.Args = "reject SERVER NAME…", "Reject a definition: it stays held until it is accepted", cobra.MinimumNArgs(2)
		cmd.Long = "Reject definitions as they are now. They do not reach clients, and are not told of again.\n" +
			"It takes the approver credential.\n" + exitHelp
		cmd.Example = "  durward pins reject github delete_everything"
	}
	cmd.Flags().BoolVarP(&opt.yes, "yes", "y", false, "do not ask")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runPinsDecide(ctx context.Context, server string, names []string, opt pinsDecideOptions, std Streams) error {
	service, err := approverAPI(ctx)
	if err != nil {
		return err
	}
	chosen, err := choose(ctx, service, server, names, opt.accept)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		_, err := fmt.Fprintln(std.Err, "nothing waits to be accepted")
		return err
	}
	if !opt.yes {
		if err := confirm(ctx, service, server, names, chosen, opt, std); err != nil {
			return err
		}
	}
	decided, err := decidePins(ctx, service, server, chosen, opt.accept)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, client.PinList{Pins: decided})
	}
	done := "rejected"
	if opt.accept {
		done = "accepted"
	}
	for i := range decided {
		line := done + " " + decided[i].Kind
		if decided[i].Name != "" {
			line += " " + reveal.Line(decided[i].Name)
		}
		if _, err := fmt.Fprintln(std.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the definitions that are meant: those named, or all that nobody
// accepted or rejected and the server lists.
func choose(ctx context.Context, service *client.Client, server string, names []string, accept bool) ([]client.Pin, error) {
	all, err := service.Pins(ctx, server)
	if err != nil {
		return nil, err
	}
	wanted := pin.Rejected
	if accept {
		wanted = pin.Accepted
	}
	var chosen []client.Pin
	found := make([]bool, len(names))
	for i := range all {
		p := &all[i]
		if len(names) == 0 {
			if accept && p.Listed && p.State != pin.Accepted && p.State != pin.Rejected {
				chosen = append(chosen, *p)
			}
			continue
		}
		at := slices.IndexFunc(names, func(name string) bool { return isCalled(p, name) })
		if at < 0 {
			continue
		}
		found[at] = true
		if p.State != wanted {
			chosen = append(chosen, *p)
		}
	}
	if at := slices.Index(found, false); at >= 0 {
		return nil, durward.Errorf(durward.NotFound, "pins of "+server, "nothing of it is called %q; see: durward pins list %s", names[at], server)
	}
	return chosen, nil
}

// isCalled reports whether a definition is meant by a name, which may say the kind
// before a colon.
func isCalled(p *client.Pin, name string) bool {
	if p.Kind == pin.KindInstructions {
		return name == pin.KindInstructions
	}
	return name == p.Name || name == p.Kind+":"+p.Name
}

// confirm shows what is new in what was chosen and asks. The hashes stay those of
// what was shown: if the server changes it meanwhile, the verdict does not hold.
func confirm(ctx context.Context, service *client.Client, server string, names []string, chosen []client.Pin, opt pinsDecideOptions, std Streams) error {
	d, ok := openDialogue(std)
	if !ok {
		return withHint(durward.Errorf(durward.Invalid, "", "nobody can be asked here"), "look at what is new with: durward pins diff %s; then add --yes", server)
	}
	defer d.close()
	if len(names) == 0 {
		names = []string{""} // all that nobody accepted yet
	}
	shown := &client.PinDiffs{}
	for _, name := range names {
		diffs, err := service.PinDiffs(ctx, server, name)
		if err != nil {
			return err
		}
		shown.More += diffs.More
		for i := range diffs.Diffs {
			if slices.ContainsFunc(chosen, func(p client.Pin) bool { return p.Kind == diffs.Diffs[i].Kind && p.Hash == diffs.Diffs[i].Hash }) {
				shown.Diffs = append(shown.Diffs, diffs.Diffs[i])
			}
		}
	}
	if len(shown.Diffs) < len(chosen) && shown.More == 0 {
		return durward.Errorf(durward.Conflict, "pins of "+server, "the server changed it again just now; look again")
	}
	if err := printDiffs(d.out, shown); err != nil {
		return err
	}
	verb := "reject"
	if opt.accept {
		verb = "accept"
	}
	what := "it"
	if len(chosen) > 1 {
		what = fmt.Sprintf("these %d definitions of %s", len(chosen), server)
	}
	answer, err := d.line(fmt.Sprintf("%s %s? [y/N] ", verb, what), false)
	if err != nil {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return durward.Errorf(durward.Denied, "", "nothing was changed")
	}
	return nil
}

func decidePins(ctx context.Context, service *client.Client, server string, chosen []client.Pin, accept bool) ([]client.Pin, error) {
	v := client.PinVerdict{Server: server, Accept: accept}
	for i := range chosen {
		v.Choices = append(v.Choices, client.PinChoice{Kind: chosen[i].Kind, Name: chosen[i].Name, Hash: chosen[i].Hash})
	}
	return service.DecidePins(ctx, v)
}
