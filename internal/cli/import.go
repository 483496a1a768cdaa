package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/clientconf"
	"durward/internal/paths"
	"durward/internal/reveal"
)

type importOptions struct {
	client  string
	project string
	config  string
	dryRun  bool
	yes     bool
	json    bool
}

func newImport(std Streams) *cobra.Command {
	var opt importOptions
	cmd := &cobra.Command{
		Use:   "import [FILE…]",
		Short: "Take over the servers of other MCP clients",
		Long: "Take over the servers of the MCP clients on this machine, or of the files that are named (with --client). What would be\n" +
			"taken is shown first. Literal secrets are moved into files that only you can read, and references take their place;\n" +
			"servers that need a value which is not there are left out, unless you give it at a terminal. The files of the clients\n" +
			"stay as they are. Needs no service; one that runs takes the servers into use at once.\n\n" +
			"Clients: " + clientNames() + ".\n" + exitHelp,
		Example: "  durward import --dry-run\n  durward import --client cursor ~/project/.cursor/mcp.json --yes",
		RunE:    func(_ *cobra.Command, args []string) error { return runImport(args, opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.client, "client", "", "only this client; with FILE: whose form the file has")
	flags.StringVar(&opt.project, "project", "", "also look for the files of the project in this directory")
	flags.StringVar(&opt.config, "config", "", "configuration file to add the servers to (default: your own)")
	flags.BoolVar(&opt.dryRun, "dry-run", false, "show what would be taken and change nothing")
	flags.BoolVar(&opt.yes, "yes", false, "do not ask")
	jsonFlag(cmd, &opt.json)
	_ = cmd.RegisterFlagCompletionFunc("client", completeClients) // the flag was declared above
	return cmd
}

func clientNames() string {
	var names []string
	for _, c := range clientconf.Clients() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func completeClients(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return strings.Split(clientNames(), ", "), cobra.ShellCompDirectiveNoFileComp
}

func runImport(args []string, opt importOptions, std Streams) error {
	sources, err := importSources(args, opt)
	if err != nil {
		return err
	}
	files, err := readSources(sources, std)
	if err != nil {
		return err
	}
	target := configFile(nil)
	if opt.config != "" {
		target = opt.config
	}
	t, err := newTaker(target)
	if err != nil {
		return err
	}
	plan := clientconf.NewPlan(files, clientconf.PlanOptions{Servers: t.servers, Secrets: t.secrets()})
	if opt.json {
		text, err := plan.JSON()
		if err == nil {
			err = t.takeIf(!opt.dryRun && opt.yes, plan, Streams{In: strings.NewReader(""), Out: std.Err, Err: std.Err})
		}
		_, printed := std.Out.Write(text)
		return errors.Join(err, printed)
	}
	if _, err := fmt.Fprint(std.Out, reveal.Text(plan.Text())); err != nil {
		return err
	}
	if opt.dryRun || len(plan.Servers) == 0 {
		return nil
	}
	if !opt.yes {
		agreed, asked := agree(std, "\nTake them into "+target+"?")
		switch {
		case !asked:
			return withHint(durward.Errorf(durward.Invalid, "", "nobody can be asked here whether to go on"), "add --yes, or --dry-run to look only")
		case !agreed:
			return nil
		}
	}
	return t.takeIf(true, plan, std)
}

// agree asks a person at a terminal.
func agree(std Streams, question string) (agreed, asked bool) {
	d, ok := openDialogue(std)
	if !ok {
		return false, false
	}
	defer d.close()
	line, err := d.line(question+" [y/N] ", false)
	line = strings.ToLower(strings.TrimSpace(line))
	return err == nil && (line == "y" || line == "yes"), true
}

// importSources are the files to read.
func importSources(args []string, opt importOptions) ([]clientconf.Source, error) {
	only := clientconf.Client("")
	var err error
	if opt.client != "" {
		if only, err = clientconf.ParseClient(opt.client); err != nil {
			return nil, err
		}
	}
	if len(args) > 0 && only == "" {
		return nil, usage(errors.New("a file needs --client, which says whose form it has: " + clientNames()))
	}
	var sources []clientconf.Source
	for _, file := range args {
		sources = append(sources, clientconf.Source{Client: only, Path: file, Dir: opt.project})
	}
	if len(args) > 0 {
		return sources, nil
	}
	locations, err := clientLocations(opt.project)
	if err != nil {
		return nil, err
	}
	for _, l := range locations {
		if l.Exists && (only == "" || l.Client == only) {
			sources = append(sources, l.Source())
		}
	}
	if len(sources) == 0 {
		return nil, withHint(durward.Errorf(durward.NotFound, "", "no file of an MCP client was found"),
			"name one: durward import --client CLIENT FILE")
	}
	return sources, nil
}

func clientLocations(project string) ([]clientconf.Location, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "your home directory is not known: %w", err)
	}
	if project != "" {
		if project, err = filepath.Abs(project); err != nil {
			return nil, durward.Errorf(durward.Invalid, "", "the project cannot be found: %w", err)
		}
	}
	return clientconf.Locations(clientconf.Environment{OS: runtime.GOOS, Home: home, Getenv: os.Getenv, Project: project}), nil
}

// readSources reads the files. One that is broken is told and left out, unless it is the only one.
func readSources(sources []clientconf.Source, std Streams) ([]*clientconf.File, error) {
	var files []*clientconf.File
	var broken []error
	for _, src := range sources {
		data, err := clientconf.ReadFile(src.Path)
		if err == nil && data == nil {
			err = durward.Errorf(durward.NotFound, src.Path, "there is no such file")
		}
		if err != nil {
			broken = append(broken, err)
			continue
		}
		file, problems := clientconf.Read(src, data)
		if file == nil || len(file.Entries) == 0 && problems.Failed() {
			broken = append(broken, problems.Err())
			continue
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errors.Join(broken...)
	}
	for _, err := range broken {
		_, _ = fmt.Fprintln(std.Err, "durward: left out:", err) // there is nobody else to tell
	}
	return files, nil
}

// secretFile is where a secret is kept.
func secretFile(name string) string { return filepath.Join(paths.Secrets(), name) }
