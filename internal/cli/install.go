package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/clientconf"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/internal/reveal"
)

type installOptions struct {
	file    string
	project string
	move    bool
	replace bool
	dryRun  bool
	json    bool
}

func (o *installOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.file, "file", "", "the client's file (default: where the client looks for it)")
	cmd.Flags().StringVar(&o.project, "project", "", "the file of the project in this directory instead of yours")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the difference and change nothing")
	jsonFlag(cmd, &o.json)
	cmd.MarkFlagsMutuallyExclusive("file", "project")
}

func newInstall(std Streams) *cobra.Command {
	var opt installOptions
	cmd := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Write Durward into the configuration of an MCP client",
		Long: "Write Durward into the configuration of an MCP client, as a command that the client runs (durward stdio). The\n" +
			"difference is shown, nothing else in the file changes, and a backup is kept beside it. Installing twice changes nothing.\n\n" +
			"Clients: " + clientNames() + ".\n" + exitHelp,
		Example:           "  durward install claude-code --dry-run\n  durward install cursor --move",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeClients,
		RunE:              func(_ *cobra.Command, args []string) error { return runInstall(args[0], opt, std) },
	}
	opt.flags(cmd)
	cmd.Flags().BoolVar(&opt.move, "move", false, "take the client's other servers out, as Durward serves them from now on (durward import first)")
	cmd.Flags().BoolVar(&opt.replace, "replace", false, "put aside an entry \"durward\" that runs something else")
	return cmd
}

func newUninstall(std Streams) *cobra.Command {
	var opt installOptions
	cmd := &cobra.Command{
		Use:   "uninstall CLIENT",
		Short: "Take Durward out of the configuration of an MCP client again",
		Long: "Take Durward out of the configuration of an MCP client again. A file that nobody changed since becomes what it was,\n" +
			"byte for byte; in one that was changed, what the installation did is undone and the changes stay.\n" + exitHelp,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeClients,
		RunE:              func(_ *cobra.Command, args []string) error { return runUninstall(args[0], opt, std) },
	}
	opt.flags(cmd)
	return cmd
}

func runInstall(name string, opt installOptions, std Streams) error {
	src, data, err := clientFile(name, opt)
	if err != nil {
		return err
	}
	record, err := readRecord(src)
	if err != nil {
		return err
	}
	command, err := ownCommand()
	if err != nil {
		return err
	}
	o := clientconf.InstallOptions{Command: command, Replace: opt.replace, Previous: record}
	if opt.move {
		before := data
		if record != nil { // what an earlier installation moved is moved by this one, too
			if undone, err := clientconf.Uninstall(src, data, record); err == nil {
				before = undone.Data
			}
		}
		if o.Move, err = othersOf(src, before); err != nil {
			return err
		}
	}
	change, err := clientconf.Install(src, data, o)
	if durward.KindOf(err) == durward.Conflict && err != nil {
		return withHint(err, "durward install %s --replace puts the entry aside; uninstall brings it back", name)
	}
	if err != nil {
		return err
	}
	return applyChange(src, data, change, opt, std, "installed in")
}

func runUninstall(name string, opt installOptions, std Streams) error {
	src, data, err := clientFile(name, opt)
	if err != nil {
		return err
	}
	record, err := readRecord(src)
	if err != nil {
		return err
	}
	change, err := clientconf.Uninstall(src, data, record)
	if err != nil {
		return err
	}
	return applyChange(src, data, change, opt, std, "taken out of")
}

// installed is what install --json and uninstall --json print.
type installed struct {
	Client  clientconf.Client `json:"client"`
	File    string            `json:"file"`
	Changed bool              `json:"changed"`
	Written bool              `json:"written"`
	Diff    string            `json:"diff"`
	Backup  string            `json:"backup,omitempty"`
}

// applyChange shows a change and makes it.
func applyChange(src clientconf.Source, data []byte, change *clientconf.Change, opt installOptions, std Streams, done string) error {
	out := installed{Client: src.Client, File: src.Path, Changed: change.Changed, Diff: change.Diff, Written: change.Changed && !opt.dryRun}
	if out.Written {
		var err error
		if change.Record != nil { // before the file: without it nothing could be taken back
			err = writeRecord(src, change.Record)
		}
		if err == nil {
			out.Backup, err = clientconf.Replace(clientconf.Replacement{
				Path: src.Path, Old: data, New: change.Data, Remove: change.Remove, Backup: clientconf.BackupFirst,
			})
		}
		if err == nil && change.Record == nil {
			err = writeRecord(src, nil)
		}
		if err != nil {
			return err
		}
	}
	if opt.json {
		return printJSON(std.Out, out)
	}
	if _, err := fmt.Fprint(std.Out, reveal.Text(change.Diff)); err != nil {
		return err
	}
	var err error
	switch {
	case !out.Changed:
		_, err = fmt.Fprintf(std.Out, "nothing to change in %s\n", src.Path)
	case out.Written && out.Backup != "":
		_, err = fmt.Fprintf(std.Out, "Durward was %s %s (backup: %s); restart %s\n", done, src.Path, out.Backup, src.Client.Title())
	case out.Written:
		_, err = fmt.Fprintf(std.Out, "Durward was %s %s; restart %s\n", done, src.Path, src.Client.Title())
	}
	return err
}

// clientFile finds and reads the file of a client.
func clientFile(name string, opt installOptions) (src clientconf.Source, data []byte, err error) {
	c, err := clientconf.ParseClient(name)
	if err != nil {
		return src, nil, err
	}
	src = clientconf.Source{Client: c, Path: opt.file}
	if opt.file == "" {
		if src, err = clientSource(c, opt.project); err != nil {
			return src, nil, err
		}
	}
	if src.Path, err = filepath.Abs(src.Path); err != nil {
		return src, nil, durward.Errorf(durward.Invalid, "", "the file cannot be found: %w", err)
	}
	data, err = clientconf.ReadFile(src.Path)
	return src, data, err
}

// clientSource is where a client looks: a file that is there before one that is
// not.
func clientSource(c clientconf.Client, project string) (clientconf.Source, error) {
	locations, err := clientLocations(project)
	if err != nil {
		return clientconf.Source{}, err
	}
	var best *clientconf.Location
	for i := range locations {
		l := &locations[i]
		if l.Client != c || (l.Scope == clientconf.ScopeProject) != (project != "") {
			continue
		}
		if best == nil || l.Exists && !best.Exists || l.Installed && !best.Installed {
			best = l
		}
	}
	switch {
	case best == nil:
		return clientconf.Source{}, durward.Errorf(durward.NotFound, "", "%s has no such file; name it with --file", c.Title())
	case !best.Installed && !best.Exists && project == "":
		return clientconf.Source{}, withHint(durward.Errorf(durward.NotFound, "", "%s does not seem to be installed here", c.Title()),
			"if it is, name its file: durward install %s --file %s", c, shellQuote(best.Path))
	}
	return best.Source(), nil
}

// othersOf are the entries of a client that are not Durward's.
func othersOf(src clientconf.Source, data []byte) ([]clientconf.Path, error) {
	if data == nil {
		return nil, nil
	}
	file, problems := clientconf.Read(src, data)
	if file == nil {
		return nil, problems.Err()
	}
	var others []clientconf.Path
	for i := range file.Entries {
		if e := &file.Entries[i]; !e.Own && e.Scope == "" {
			others = append(others, e.Path)
		}
	}
	return others, nil
}

// ownCommand is how a client runs this program: by its name if that is in the
// PATH, else by its full path.
func ownCommand() (string, error) {
	self, err := executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("durward"); err == nil {
		if real, err := filepath.EvalSymlinks(found); err == nil && real == self && filepath.IsAbs(found) {
			return found, nil
		}
	}
	return self, nil
}

func recordFile(src clientconf.Source) string {
	sum := sha256.Sum256([]byte(src.Path))
	return filepath.Join(paths.Installed(), string(src.Client)+"-"+hex.EncodeToString(sum[:4])+".json")
}

// readRecord reads how an installation is taken back; nil if there is none.
func readRecord(src clientconf.Source) (*clientconf.Record, error) {
	data, err := os.ReadFile(recordFile(src))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no installation, no record
	}
	var r clientconf.Record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return nil, withHint(durward.Errorf(durward.Invalid, "", "the record of the installation cannot be read: %w", err),
			"without it only the entry is taken out: remove %s and try again", shellQuote(recordFile(src)))
	}
	return &r, nil
}

// writeRecord keeps how an installation is taken back (0600: it can hold secrets
// of the entries that were moved); nil removes what is kept.
func writeRecord(src clientconf.Source, r *clientconf.Record) error {
	if r == nil {
		if err := os.Remove(recordFile(src)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return durward.Errorf(durward.Unavailable, "", "the record of the installation cannot be removed: %w", err)
		}
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return config.Write(recordFile(src), data)
}
