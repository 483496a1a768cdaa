package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

//go:generate go test . -run UpToDate -update

// Reference returns docs/reference/cli.md, made of the commands.
func Reference() []byte {
	var b strings.Builder
	b.WriteString("# Command line\n\nGenerated from the commands; `make docs` writes it anew. The man pages, which `durward help-man DIR` writes, say the same.\n")
	for _, cmd := range commands(newRoot(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})) {
		long, _, _ := strings.Cut(cmd.Long, "\nExit status:")
		if long == "" {
			long = cmd.Short + "."
		}
		b.WriteString("\n## " + cmd.CommandPath() + "\n\n" + strings.TrimSpace(long) + "\n")
		if cmd.Runnable() && !cmd.HasSubCommands() || cmd.ValidArgsFunction != nil {
			b.WriteString("\n```text\n" + useLine(cmd) + "\n```\n")
		}
		if cmd.Example != "" {
			b.WriteString("\n```text\n" + strings.ReplaceAll(cmd.Example, "\n  ", "\n")[2:] + "\n```\n")
		}
		if flags := flagUsages(cmd); flags != "" {
			b.WriteString("\n```text\n" + flags + "\n```\n")
		}
	}
	b.WriteString("\n## Exit status\n\n" + strings.TrimPrefix(strings.TrimSpace(exitHelp), "Exit status: ") + "\n")
	return []byte(b.String())
}

func useLine(cmd *cobra.Command) string {
	line := cmd.UseLine()
	return strings.TrimSuffix(line, " [flags]")
}

// commands lists a command and everything below it that people use.
func commands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	below := slices.Clone(cmd.Commands())
	slices.SortFunc(below, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	for _, c := range below {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// flagUsages are the flags of a command, one a line; "" if it has none but --help.
func flagUsages(cmd *cobra.Command) string {
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(cmd.LocalFlags().FlagUsages(), "\n"), "\n") {
		if !strings.Contains(line, "--help ") && strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(strings.TrimPrefix(line, "      "), " "))
		}
	}
	return strings.Join(lines, "\n")
}
