package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/internal/seal"
)

func newKeys(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Look at, rotate and make the keys that seal what clients carry",
		Long: "Look at, rotate and make the keys that seal what clients carry for the service: tokens of requests that wait for input,\n" +
			"ids of tasks and sessions, cursors. Keys are shown by their ids; only keys new prints one.\n" + exitHelp,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newKeysList(std), newKeysRotate(std), newKeysNew(std))
	return cmd
}

func newKeysList(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the keys by their ids",
		Long:    "List the keys by their ids, the one that seals first. Without a service those are listed that it would start with.\n" + exitHelp,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runKeysList(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runKeysList(ctx context.Context, json bool, std Streams) error {
	service, err := runningService(ctx)
	if err != nil {
		return err
	}
	var keys *client.Keys
	if service != nil {
		keys, err = service.Keys(ctx)
	} else {
		keys, err = keysAtRest()
	}
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, keys)
	}
	return printKeys(std.Out, keys)
}

func printKeys(w io.Writer, keys *client.Keys) error {
	from := keys.File
	if keys.Source == client.KeysFromConfiguration {
		from = "the configuration (seal_keys)"
	}
	if len(keys.Keys) == 0 {
		_, err := fmt.Fprintf(w, "there are no keys yet; the service makes one in %s when it starts\n", from)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "KEY\tUSE\tCREATED\n")
	for _, k := range keys.Keys {
		use, created := "opens", "unknown"
		if k.Seals {
			use = "seals, opens"
		}
		if !k.Created.IsZero() {
			created = k.Created.Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", k.ID, use, created)
	}
	if err := table.Flush(); err != nil { // the writer keeps the first error
		return err
	}
	_, err := fmt.Fprintf(w, "\nfrom %s\n", from)
	return err
}

func newKeysRotate(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Have a new key seal from now on",
		Long: "Have a new key seal from now on. The one before it still opens what it sealed, older ones are gone: two keys are active.\n" +
			"Calls and sessions go on. Without a service the file is rotated that it starts with. Keys that stand in the configuration\n" +
			"are rotated there.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runKeysRotate(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runKeysRotate(ctx context.Context, json bool, std Streams) error {
	service, err := runningService(ctx)
	if err != nil {
		return err
	}
	var keys *client.Keys
	if service != nil {
		keys, err = service.RotateKeys(ctx)
	} else {
		keys, err = rotateAtRest()
	}
	switch {
	case durward.KindOf(err) == durward.Conflict && err != nil:
		return withHint(err, "durward keys new prints a key; docs/how-to/keys.md tells how replicas change theirs")
	case err != nil:
		return err
	case json:
		return printJSON(std.Out, keys)
	}
	said := keys.Keys[0].ID + " seals from now on"
	if len(keys.Keys) > 1 {
		said += "; what " + keys.Keys[1].ID + " sealed still opens"
	}
	_, err = fmt.Fprintln(std.Out, said)
	return err
}

func newKeysNew(std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "new",
		Short: "Print a fresh key for seal_keys",
		Long:  "Print a fresh key for seal_keys, and nothing else. It is stored nowhere. Needs no service.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(std.Out, durward.NewSealKey().Reveal())
			return err
		},
	}
}

// runningService returns a client of the service that runs, or nil if none does.
// Who names one in the environment wants that one.
func runningService(ctx context.Context) (*client.Client, error) {
	service, err := serviceAPI()
	if err != nil {
		return nil, err
	}
	_, err = service.Status(ctx)
	switch {
	case err == nil:
		return service, nil
	case durward.KindOf(err) == durward.Unavailable && os.Getenv(envAPI) == "":
		return nil, nil //nolint:nilnil // that none runs is no error
	}
	return nil, err
}

// keysAtRest are the keys that a service would start with.
func keysAtRest() (*client.Keys, error) {
	c, err := ownConfig()
	if err != nil {
		return nil, err
	}
	out := &client.Keys{Source: client.KeysFromConfiguration, Keys: []client.Key{}}
	for i, k := range c.SealKeys {
		out.Keys = append(out.Keys, client.Key{ID: seal.ID(k), Seals: i == 0})
	}
	if len(c.SealKeys) > 0 {
		return out, nil
	}
	return keysInFile()
}

// keysInFile are those of the key file; none if there is no file.
func keysInFile() (*client.Keys, error) {
	out := &client.Keys{Source: client.KeysFromFile, File: paths.SealKeys(), Keys: []client.Key{}}
	keys, err := seal.ListFile(paths.SealKeys())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, k := range keys {
		out.Keys = append(out.Keys, client.Key{ID: seal.ID(k.Key), Created: k.Created, Seals: i == 0})
	}
	return out, nil
}

// rotateAtRest rotates the key file without a service.
func rotateAtRest() (*client.Keys, error) {
	c, err := ownConfig()
	if err != nil {
		return nil, err
	}
	if len(c.SealKeys) > 0 {
		return nil, durward.Errorf(durward.Conflict, "keys", "they stand in %s (seal_keys) and are rotated there, on every replica", configFile(nil))
	}
	if _, err := seal.RotateFile(paths.SealKeys()); err != nil {
		return nil, err
	}
	return keysInFile()
}

// ownConfig is the configuration that a service would start with.
func ownConfig() (*config.Config, error) {
	load := loadOptions(configFile(nil))
	load.Optional = true
	c, err := config.Load(load)
	return c, withHint(err, "correct the file; whether its keys are in use is not known otherwise")
}
