package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/sigma"
	"durward/internal/yamlx"
	"durward/policy"
)

type ruleImportOptions struct {
	sigma  []string
	action string
	fields []string
	out    string
	skip   bool
}

func newRuleImport(std Streams) *cobra.Command {
	var opt ruleImportOptions
	cmd := &cobra.Command{
		Use:   "import --sigma FILE…",
		Short: "Translate Sigma rules into rules",
		Long: "Translate Sigma rules into a file of rules for policy.files, printed or written to --out. What they mean is kept: case,\n" +
			"wildcards, modifiers (contains, startswith, endswith, re, cidr, all, lt, gte, exists, …), conditions with and, or, not,\n" +
			"1 of and all of. What cannot be translated is refused with its field and line; --skip leaves those rules out.\n" +
			"A translated rule asks (or, of results, blocks), unless --action or the rule itself says otherwise. Needs no service.\n" +
			"The fields that there are stand in docs/how-to/write-rules.md.\n" + exitHelp,
		Example: "  durward rule import --sigma rules/*.yml --out ~/.config/durward/policy/sigma.yaml\n" +
			"  durward rule import --sigma process.yml --map CommandLine=mcp.tool.arguments.command",
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return runRuleImport(args, opt, std) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opt.sigma, "sigma", nil, "file of Sigma rules; may be repeated, and more may stand behind it")
	flags.StringVar(&opt.action, "action", "", "ask or block (default: ask; block for rules about results)")
	flags.StringArrayVar(&opt.fields, "map", nil, "SIGMAFIELD=FIELD, what a field becomes that there is no counterpart for; may be repeated")
	flags.StringVarP(&opt.out, "out", "o", "", "new file to write (default: standard output)")
	flags.BoolVar(&opt.skip, "skip", false, "leave out what cannot be translated, and report it")
	_ = cmd.MarkFlagRequired("sigma")                                   // the flag was declared above
	_ = cmd.RegisterFlagCompletionFunc("action", words("ask", "block")) // as above
	return cmd
}

func runRuleImport(more []string, opt ruleImportOptions, std Streams) error {
	if !slices.Contains([]string{"", "ask", "block"}, opt.action) {
		return usage(fmt.Errorf("--action is ask or block, not %q: a detection that allowed would open what defaults close", opt.action))
	}
	fields, err := pairs("--map", opt.fields, "=")
	if err != nil {
		return usage(err)
	}
	var rules []sigma.Rule
	var problems yamlx.Problems
	for _, file := range append(opt.sigma, more...) {
		data, err := readInput(file, std)
		if err != nil {
			return err
		}
		some, wrong := sigma.Translate(file, data, sigma.Options{Action: opt.action, Fields: fields})
		rules, problems = append(rules, some...), append(problems, wrong...)
	}
	unique(rules)
	if len(problems) > 0 && !opt.skip {
		return withHint(problems, "nothing was written; --skip leaves out what cannot be translated")
	}
	if len(problems) > 0 {
		_, _ = fmt.Fprintln(std.Err, problems) // there is nobody else to tell
	}
	text := sigma.Render(rules)
	if err := soundImport(text); err != nil {
		return err
	}
	return writeImport(text, len(rules), opt.out, std)
}

// unique gives rules of several files ids of their own.
func unique(rules []sigma.Rule) {
	seen := map[string]bool{}
	for i := range rules {
		stem := rules[i].ID
		for n := 2; seen[rules[i].ID]; n++ {
			tail := fmt.Sprintf("-%d", n)
			rules[i].ID = stem[:min(len(stem), 64-len(tail))] + tail
		}
		seen[rules[i].ID] = true
	}
}

// soundImport compiles what is about to be written.
func soundImport(text []byte) error {
	doc, problems := policy.ParseFile("the translation", text, policy.User)
	if len(problems) == 0 {
		_, problems = policy.Compile([]policy.Document{*doc}, policy.CompileOptions{})
	}
	if len(problems) > 0 {
		return withHint(problems, "the rules are translated, but cannot be used as they are: write what is shown in other words")
	}
	return nil
}

func writeImport(text []byte, rules int, out string, std Streams) error {
	if out == "" {
		_, err := std.Out.Write(text)
		return err
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return durward.Errorf(durward.Conflict, "", "the rules cannot be written: %w; --out names a new file", err)
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the rules were not written to their end: %w", err)
	}
	full, err := filepath.Abs(out)
	if err != nil {
		full = out
	}
	_, err = io.WriteString(std.Out, strings.Join([]string{
		fmt.Sprintf("%d rules are in %s; name it in your configuration, and they are in use:", rules, out),
		"  policy:", "    files: [" + yamlx.Quote(full) + "]", "",
	}, "\n"))
	return err
}
