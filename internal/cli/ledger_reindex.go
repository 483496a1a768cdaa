package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/store/sqlite"
)

func newLedgerReindex(std Streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Make anew what calls are found by",
		Long: "Make anew what calls are found by: not the records, which stay as they are. It is only needed when a command says so, and\n" +
			"while the service does not run. Ten million calls take some minutes. An interrupt is safe: what is missing is made when\n" +
			"the service starts the next time.\n" + exitHelp,
		Example: "  durward ledger reindex",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLedgerReindex(cmd.Context(), file, std) },
	}
	cmd.Flags().StringVar(&file, "file", "", "do it to this ledger instead of that of the service")
	_ = cmd.MarkFlagFilename("file", "db") // the flag was declared above
	return cmd
}

func runLedgerReindex(ctx context.Context, file string, std Streams) error {
	file, err := ledgerPath(ctx, file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return durward.Errorf(durward.NotFound, "", "there is no ledger %s", file) // it is not to be made here
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: file})
	if durward.KindOf(err) == durward.Conflict && err != nil {
		return withHint(err, "stop the service first")
	}
	if err != nil {
		return err
	}
	b := newBar(std, "reading")
	err = db.Reindex(ctx, b.tell)
	b.end()
	if closing := db.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return interrupted(ctx, err, "what is missing is made when the service starts the next time")
	}
	_, err = fmt.Fprintln(std.Out, "done")
	return err
}
