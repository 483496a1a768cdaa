package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/reveal"
)

type showOptions struct {
	body string
	json bool
}

func newShow(std Streams) *cobra.Command {
	var opt showOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show everything about one call",
		Long: "Show everything about one call: who made it, what was decided and by which rules, how it ended, what was asked and\n" +
			"answered, and the link of the chain that proves it. The beginning of an ID is enough if only one call has it.\n" +
			"Requests and results are shown up to 1 KiB; --body prints one of them as a whole. Known secrets are masked.\n" + exitHelp,
		Example:           "  durward show 0197f6a2-1c3d-7abc-8\n  durward show 0197f6a2-1c3d-7abc-8 --body response | jq .",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: callIDs,
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd.Context(), args[0], opt, std) },
	}
	cmd.Flags().StringVar(&opt.body, "body", "", "print the whole request or response, and nothing else")
	_ = cmd.RegisterFlagCompletionFunc("body", words("request", "response")) // the flag was declared above
	jsonFlag(cmd, &opt.json)
	cmd.MarkFlagsMutuallyExclusive("body", "json")
	return cmd
}

// callIDs completes the ids of the newest calls.
func callIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
		page, err := c.Calls(ctx, client.CallFilter{Limit: 20})
		if err != nil {
			return nil, err
		}
		var ids []string
		for i := range page.Calls {
			r := &page.Calls[i]
			ids = append(ids, string(r.ID)+"\t"+inline(what(r))+" "+r.Status)
		}
		return ids, nil
	})
}

func runShow(ctx context.Context, id string, opt showOptions, std Streams) error {
	if opt.body != "" && opt.body != "request" && opt.body != "response" {
		return usage(fmt.Errorf("--body is request or response, not %q", opt.body))
	}
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	story, err := service.CallStory(ctx, id)
	switch {
	case durward.KindOf(err) == durward.NotFound && err != nil:
		return withHint(err, "durward calls lists what is on record")
	case err != nil:
		return err
	case opt.json:
		return printJSON(std.Out, story)
	case opt.body != "":
		return printBody(ctx, service, &story.Call, opt.body, std)
	}
	return printStory(std, story)
}

// printBody prints the request or the response of a call, as a whole or not at all.
func printBody(ctx context.Context, service *client.Client, c *client.CallRecord, which string, std Streams) (err error) {
	digest, preview, length := c.RequestBody, c.Request, c.BytesIn
	if which == "response" {
		digest, preview, length = c.ResponseBody, c.Response, c.BytesOut
	}
	if which == "response" && c.Error != "" {
		digest, preview = "", c.Error
	}
	if digest == "" {
		if !whole(preview, length) && preview == c.Error {
			return durward.Errorf(durward.NotFound, "", "errors are kept up to 1 KiB; durward show %s shows its beginning", c.ID)
		}
		if !whole(preview, length) {
			return withHint(durward.Errorf(durward.NotFound, "", "the %s was not kept as a whole; durward show %s shows its beginning", which, c.ID), "ledger.bodies in the configuration keeps them")
		}
		return printLine(std, shown(std, preview))
	}
	body, info, err := service.Body(ctx, digest)
	if durward.KindOf(err) == durward.NotFound && err != nil {
		return withHint(err, "ledger.keep.bodies says for how long they are kept; durward show %s shows its beginning", c.ID)
	}
	if err != nil {
		return err
	}
	defer func() {
		if closed := body.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := io.Copy(foreign{std.Out}, body); err != nil {
		return durward.Errorf(durward.Unavailable, "", "the %s could not be read to its end: %w", which, err)
	}
	if info.Truncated {
		_, _ = fmt.Fprintf(std.Err, "\ndurward: it had %d bytes; what is beyond limits.ledger_body was not kept\n", info.Original) // there is nobody else to tell
	}
	return nil
}

// whole reports whether a preview is all there was: one that was cut is 1 KiB
// long, but for the rest of a character.
func whole(preview string, length int) bool {
	const most = 1 << 10
	return len(preview) == length || len(preview) <= most-4
}

// foreign writes foreign text: a terminal is not to be steered by it, a file gets
// it as it is.
type foreign struct{ out io.Writer }

// Write writes to a terminal what is visible. Of a character that the end of a
// buffer cuts in two nothing is left that could steer one.
func (f foreign) Write(p []byte) (int, error) {
	if !isTerminal(f.out) {
		return f.out.Write(p)
	}
	if _, err := io.WriteString(f.out, reveal.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// printStory shows a call in sections, those with something in them.
func printStory(std Streams, s *client.CallStory) error {
	var out strings.Builder
	c := &s.Call
	out.WriteString(paint(std.Out, bold, string(c.ID)) + "\n")
	for _, line := range storyLines(std, s) {
		if line[1] != "" {
			fmt.Fprintf(&out, "  %-10s %s\n", line[0], line[1])
		}
	}
	preview(&out, c, "request", c.Request, c.RequestBody, c.BytesIn)
	preview(&out, c, "response", c.Response, c.ResponseBody, c.BytesOut)
	if c.Error != "" {
		cut := ""
		if !whole(c.Error, c.BytesOut) {
			cut = ", only its beginning was kept"
		}
		out.WriteString("\nerror" + cut + ":\n" + reveal.Text(c.Error) + "\n")
	}
	for _, d := range s.Decisions {
		fmt.Fprintf(&out, "\ndecision %s  %s %s %s → %s %s %s", stamp(d.At), inline(d.Stage), inline(d.Layer), inline(d.Rule), inline(d.Effective), inline(d.Detection), inline(d.Detail))
	}
	for _, a := range s.Approvals {
		fmt.Fprintf(&out, "\napproval %s  %s %s %s %s %s", stamp(a.At), inline(a.ID), inline(a.Status), inline(a.By), inline(a.Scope), inline(a.Reason))
	}
	for _, f := range s.Flows {
		fmt.Fprintf(&out, "\nflow     %s  %s %s:%d%s %d, %d bytes out, %d bytes in, %s", stamp(f.At), inline(f.Method), inline(f.Host), f.Port, inline(f.Path), f.Status, f.BytesOut, f.BytesIn, inline(f.Decision))
	}
	if len(s.Decisions)+len(s.Approvals)+len(s.Flows) > 0 {
		out.WriteString("\n")
	}
	_, err := io.WriteString(std.Out, out.String())
	return err
}

func storyLines(std Streams, s *client.CallStory) [][2]string {
	c := &s.Call
	where := inline(what(c))
	if c.Server != "" {
		where += fmt.Sprintf("  (%s of %s, %s)", inline(c.Tool), inline(c.Server), c.Transport)
	}
	status := paint(std.Out, statusColour(c.Status), inline(c.Status))
	if c.DurationUS > 0 {
		status += " after " + took(c.DurationUS)
	}
	if c.Attempts > 1 {
		status += fmt.Sprintf(", handed to the server %d times", c.Attempts)
	}
	decision := paint(std.Out, decisionColour(c.Decision), inline(c.Decision))
	for _, part := range [][2]string{{"rule", c.Rule}, {"layer", c.Layer}, {"reason", c.Reason}} {
		if part[1] != "" {
			decision += ", " + part[0] + " " + inline(part[1])
		}
	}
	return [][2]string{
		{"call", where},
		{"status", status},
		{"decision", decision},
		{"taken", stamp(c.IntentAt) + "  (" + ago(c.IntentAt, time.Now()) + ")"},
		{"sent", stamp(c.DispatchedAt)},
		{"ended", stamp(c.OutcomeAt)},
		{"by", inline(by(c))},
		{"route", inline(c.Route) + " (" + inline(c.Era) + "), origin " + inline(c.Origin)},
		{"risk", c.Risk},
		{"session", inline(string(c.Session))},
		{"request id", inline(c.RequestID)},
		{"parent", inline(string(c.Parent))},
		{"trace", c.TraceID},
		{"link", fmt.Sprintf("%d of the chain, %s, with %d records", s.Link.Seq, cut(s.Link.Hash, 17), s.Link.Records)},
	}
}

// stamp is a time to the microsecond, where the reader is.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000000")
}

func preview(out *strings.Builder, c *client.CallRecord, which, text, digest string, length int) {
	if text == "" {
		return
	}
	fmt.Fprintf(out, "\n%s, %s", which, bytesText(int64(length)))
	switch {
	case digest != "":
		fmt.Fprintf(out, "; all of it: durward show %s --body %s", c.ID, which)
	case !whole(text, length):
		out.WriteString("; only its beginning was kept")
	}
	out.WriteString(":\n" + reveal.Text(text) + "\n")
}
