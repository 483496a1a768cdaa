package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/docs/policies"
	"durward/internal/config"
	"durward/internal/tui"
)

type initOptions struct {
	answers        tui.InitAnswers
	replace, print bool
	json           bool
}

func newInit(std Streams) *cobra.Command {
	var opt initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a policy into your configuration: three questions",
		Long: "Write a policy with comments into your configuration file, which is made if there is none; everything else in it stays.\n" +
			"Three questions are asked on a terminal; flags answer them, too. A policy that is there already is replaced only with\n" +
			"--replace, or after a question. Then it is told what would ask and what would be blocked of the servers you have.\n" +
			"Which policies there are: docs/policies.\n" + exitHelp,
		Example: "  durward init\n  durward init --for team --ask-destructive always --record all\n  durward init --for locked-down --print",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runInit(cmd.Context(), opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.answers.For, "for", "", "who uses it: "+strings.Join(policies.Names(), ", "))
	flags.StringVar(&opt.answers.Destructive, "ask-destructive", "", "before a tool destroys something: remember (ask, the answer may hold again), always (ask every time), block, never (do not ask)")
	flags.StringVar(&opt.answers.Record, "record", "", "what is kept of each call: all, calls (the beginning of arguments and results)")
	flags.BoolVar(&opt.replace, "replace", false, "replace the policy that is there, with its rules and comments")
	flags.BoolVar(&opt.print, "print", false, "print the policy instead of writing it")
	jsonFlag(cmd, &opt.json)
	cmd.MarkFlagsMutuallyExclusive("print", "json")
	for name, all := range initWords() {
		_ = cmd.RegisterFlagCompletionFunc(name, words(all...)) // the flag was declared above
	}
	return cmd
}

func initWords() map[string][]string {
	return map[string][]string{"for": policies.Names(), "ask-destructive": {"remember", "always", "block", "never"}, "record": {"all", "calls"}}
}

func (o *initOptions) check() error {
	for name, answer := range map[string]string{"for": o.answers.For, "ask-destructive": o.answers.Destructive, "record": o.answers.Record} {
		if all := initWords()[name]; answer != "" && !slices.Contains(all, answer) {
			return usage(fmt.Errorf("--%s is one of %s, not %q", name, strings.Join(all, ", "), answer))
		}
	}
	return nil
}

func runInit(ctx context.Context, opt initOptions, std Streams) error {
	if err := opt.check(); err != nil {
		return err
	}
	if err := answered(ctx, &opt, std); err != nil {
		return err
	}
	text, err := config.ReadyPolicy(opt.answers.For, opt.answers.Destructive)
	if err != nil {
		return err
	}
	if opt.print {
		_, err := io.WriteString(std.Out, text)
		return err
	}
	file := configFile(nil)
	before, err := os.ReadFile(file) //nolint:gosec // the user's own configuration
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durward.Errorf(durward.Unavailable, "config "+file, "it cannot be read: %w", err)
	}
	after, err := initialised(file, before, text, &opt, std)
	if err != nil {
		return err
	}
	if _, err := config.Check(loadOptions(file), after); err != nil {
		return withHint(err, "nothing was changed; correct the file first")
	}
	if err := config.Write(file, after); err != nil {
		return err
	}
	return toldInit(ctx, file, opt, std)
}

// answered asks what flags did not answer. Without a terminal all of them must.
func answered(ctx context.Context, opt *initOptions, std Streams) error {
	a := &opt.answers
	if a.For != "" && a.Destructive != "" && a.Record != "" {
		return nil
	}
	d, ok := openDialogue(std)
	if ok {
		defer d.close()
		return tui.AskInit(ctx, d.terminal, d.out, a)
	}
	if a.For == "" {
		return usage(errors.New("nobody can be asked here; --for says which policy: " + strings.Join(policies.Names(), ", ")))
	}
	if a.Destructive == "" {
		a.Destructive = map[string]string{"personal": "remember", "team": "always", "locked-down": "block"}[a.For]
	}
	if a.Record == "" {
		a.Record = "all"
	}
	return nil
}

// initialised is the file as it is to be.
func initialised(file string, data []byte, text string, opt *initOptions, std Streams) ([]byte, error) {
	out, err := config.SetPolicy(file, data, text, opt.replace)
	if durward.KindOf(err) == durward.Conflict && err != nil && !opt.replace {
		if !replaceIt(file, std) {
			return nil, withHint(err, "--replace replaces it, with its rules and comments; --print prints the new one")
		}
		out, err = config.SetPolicy(file, data, text, true)
	}
	if err != nil {
		return nil, err
	}
	if opt.answers.For == "personal" { // the floor of a person's own servers
		if out, err = config.SetMissing(file, out, "medium", "defaults", "risk"); err != nil {
			return nil, err
		}
	}
	if opt.answers.Record == "calls" {
		return config.SetMissing(file, out, "false", "ledger", "bodies")
	}
	return out, nil
}

// replaceIt asks whether a policy is to be replaced.
func replaceIt(file string, std Streams) bool {
	d, ok := openDialogue(std)
	if !ok {
		return false
	}
	defer d.close()
	line, err := d.line("There is a policy in "+file+". Replace it, with its rules and comments? (yes/no): ", false)
	return err == nil && line == "yes"
}

// initOutput is what init says as JSON.
type initOutput struct {
	File   string `json:"file"`
	Policy string `json:"policy,omitempty"` // digest of what decides now; empty: no service runs
	Tools  []struct {
		Server string `json:"server"`
		Tool   string `json:"tool"`
		Action string `json:"action"`
		By     string `json:"by,omitempty"`
	} `json:"tools"`
}

// mostTools bounds how many tools are evaluated to say what a policy does.
const mostTools = 500

// toldInit takes the policy into use, if a service runs, and tells what it does.
func toldInit(ctx context.Context, file string, opt initOptions, std Streams) error {
	out := initOutput{File: file}
	service, err := runningService(ctx)
	if err != nil {
		return err
	}
	if service != nil {
		if _, err := service.Reload(ctx); err != nil {
			return withHint(err, "the policy is in %s, and not in use", file)
		}
		if err := evaluateTools(ctx, service, &out); err != nil {
			return withHint(err, "the policy is in %s and in use, but what it does could not be told", file)
		}
	}
	if opt.json {
		return printJSON(std.Out, out)
	}
	return printInit(std, opt.answers.For, service != nil, &out)
}

func evaluateTools(ctx context.Context, service *client.Client, out *initOutput) error {
	servers, err := service.Servers(ctx)
	if err != nil {
		return err
	}
	for i := range servers {
		s, err := service.Server(ctx, servers[i].Name)
		if err != nil {
			return err
		}
		for j := range s.Tools {
			if len(out.Tools) == mostTools {
				return nil
			}
			e, err := service.ExplainPolicy(ctx, client.ExplainRequest{Server: s.Tools[j].Server, Tool: s.Tools[j].Native})
			if err != nil {
				return err
			}
			out.Policy = e.Digest
			out.Tools = append(out.Tools, struct {
				Server string `json:"server"`
				Tool   string `json:"tool"`
				Action string `json:"action"`
				By     string `json:"by,omitempty"`
			}{s.Tools[j].Server, s.Tools[j].Native, e.Action, byWhat(e.Layer, e.Rule)})
		}
	}
	return nil
}

func printInit(std Streams, which string, running bool, out *initOutput) error {
	said := fmt.Sprintf("the policy %q is in %s\n", which, out.File)
	if !running {
		said += "no service runs; the next one decides by it: durward serve\n"
	}
	byServer := map[string]map[string][]string{}
	var order []string
	for _, t := range out.Tools {
		if byServer[t.Server] == nil {
			byServer[t.Server] = map[string][]string{}
			order = append(order, t.Server)
		}
		byServer[t.Server][t.Action] = append(byServer[t.Server][t.Action], inline(t.Tool))
	}
	for _, server := range order {
		of := byServer[server]
		said += fmt.Sprintf("%s: %d tools are allowed", server, len(of["allow"]))
		for _, action := range []string{"ask", "block"} {
			if len(of[action]) > 0 {
				said += fmt.Sprintf("; %s: %s", paint(std.Out, decisionColour(action), action), strings.Join(of[action], ", "))
			}
		}
		said += "\n"
	}
	said += "durward rule list shows its rules; what they say of arguments shows when they are there: durward rule explain\n"
	_, err := io.WriteString(std.Out, said)
	return err
}
