package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"durward"
)

// newHelpMan is for packagers.
func newHelpMan(Streams) *cobra.Command {
	return &cobra.Command{
		Use: "help-man DIR", Hidden: true,
		Short: "Write the man pages into a directory",
		Long:  "Write the man pages into a directory, one a command, for packages of Durward.\n" + exitHelp,
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runHelpMan(cmd.Root(), args[0]) },
	}
}

func runHelpMan(root *cobra.Command, dir string) error {
	for _, cmd := range commands(root) {
		name := manName(cmd) + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), manPage(cmd), 0o644); err != nil { //nolint:gosec // documentation is for everybody
			return durward.Errorf(durward.Unavailable, "", "%s cannot be written: %w", name, err)
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of a command in the man macros of roff (man(7)).
func manPage(cmd *cobra.Command) []byte {
	var b strings.Builder
	b.WriteString(".TH " + strings.ToUpper(manName(cmd)) + ` 1 "" "durward ` + Version() + "\"\n")
	b.WriteString(".SH NAME\n" + roff(manName(cmd)+" - "+cmd.Short) + "\n")
	b.WriteString(".SH SYNOPSIS\n.B " + roff(useLine(cmd)) + "\n")
	long, exit, _ := strings.Cut(cmd.Long, "\nExit status:")
	b.WriteString(".SH DESCRIPTION\n" + roff(strings.TrimSpace(long)) + "\n")
	if flags := flagUsages(cmd); flags != "" {
		b.WriteString(".SH OPTIONS\n.nf\n" + roff(flags) + "\n.fi\n")
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roff(cmd.Example) + "\n.fi\n")
	}
	if exit != "" {
		b.WriteString(".SH EXIT STATUS\n" + roff(strings.TrimSpace(exit)) + "\n")
	}
	var see []string
	if cmd.HasParent() {
		see = append(see, manName(cmd.Parent())+"(1)")
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			see = append(see, manName(c)+"(1)")
		}
	}
	b.WriteString(".SH SEE ALSO\n" + roff(strings.Join(see, ", ")) + "\n")
	return []byte(b.String())
}

// roff writes text so that none of it is taken for a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
