package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/ledger"
)

type ledgerPruneOptions struct {
	request client.PruneRequest
	json    bool
}

func newLedgerPrune(std Streams) *cobra.Command {
	var opt ledgerPruneOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove now what need not be kept",
		Long: "Remove now what need not be kept: the running service does so by itself every hour, within the bounds of ledger.keep in\n" +
			"the configuration. Other bounds count for this time only. Each removal is recorded and signed before it begins, so that\n" +
			"durward ledger verify holds; calls that may be under way are kept. An interrupt is safe: what was removed stays removed\n" +
			"and is on record, and the next time goes on from there.\n" + exitHelp,
		Example: "  durward ledger prune\n  durward ledger prune --bodies 1d --max-size 1G",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLedgerPrune(cmd.Context(), opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.request.Rows, "rows", "", "keep records for so long: at least 1h, or forever (default: ledger.keep.rows)")
	flags.StringVar(&opt.request.Bodies, "bodies", "", "keep bodies for so long: at least 1h, or forever (default: ledger.keep.bodies)")
	flags.StringVar(&opt.request.MaxSize, "max-size", "", "remove the oldest records beyond this size: at least 16MiB, or none (default: ledger.keep.max_size)")
	flags.BoolVar(&opt.request.Damaged, "damaged", false, "remove records that do not verify, too: they cannot be investigated then")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runLedgerPrune(ctx context.Context, opt ledgerPruneOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	b := newBar(std, "removing")
	done, err := service.PruneLedger(ctx, opt.request, told(b))
	b.end()
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx, err, "what was removed stays removed and is on record; the next time goes on from there")
	case durward.KindOf(err) == durward.Conflict && err != nil:
		return withHint(err, "durward ledger verify says what is damaged; durward ledger backup FILE keeps it; --damaged removes it")
	case err != nil:
		return err
	case opt.json:
		return printJSON(std.Out, done)
	}
	return printPruned(std, done)
}

func printPruned(std Streams, p *client.Pruned) error {
	text := "nothing was removed"
	switch {
	case p.Rows > 0 && p.Bodies > p.Rows:
		text = fmt.Sprintf("records up to link %d were removed, and bodies up to link %d", p.Rows, p.Bodies)
	case p.Rows > 0:
		text = fmt.Sprintf("records up to link %d were removed", p.Rows)
	case p.Bodies > 0:
		text = fmt.Sprintf("bodies up to link %d were removed", p.Bodies)
	}
	text += "; the ledger takes " + bytesText(p.Bytes)
	if p.Over {
		text += ", which is more than it may, and nothing more may be removed now"
	}
	_, err := fmt.Fprintln(std.Out, text)
	return err
}

func newLedgerRotateKey(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "rotate-key",
		Short: "Have a new key sign the record from now on",
		Long: "Have a new key sign the record from now on. That it took over is recorded, and signed by both keys: with the public half\n" +
			"of either everything can be verified. The old key is not kept.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLedgerRotateKey(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runLedgerRotateKey(ctx context.Context, json bool, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	info, err := service.RotateLedgerKey(ctx)
	switch {
	case err != nil:
		return err
	case json:
		return printJSON(std.Out, info)
	}
	_, err = fmt.Fprintf(std.Out, "%s signs from now on\n", info.Key)
	return err
}

type ledgerBackupOptions struct {
	file string
	json bool
}

func newLedgerBackup(std Streams) *cobra.Command {
	var opt ledgerBackupOptions
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a consistent copy, also while the service runs",
		Long: "Write a consistent copy of the ledger to a new file (0600), also while the service runs. Beside it are the signed\n" +
			"checkpoints and the public keys that durward ledger verify --file FILE needs: FILE.checkpoints and FILE.pub. An interrupt\n" +
			"is safe: nothing is left of an unfinished copy.\n" + exitHelp,
		Example: "  durward ledger backup /backup/ledger-$(date +%F).db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLedgerBackup(cmd.Context(), args[0], opt, std)
		},
	}
	fileFlag(cmd, &opt.file)
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runLedgerBackup(ctx context.Context, to string, opt ledgerBackupOptions, std Streams) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return durward.Errorf(durward.Invalid, "", "%s: %w", to, err)
	}
	service, err := ledgerService(ctx, opt.file)
	if err != nil {
		return err
	}
	b := newBar(std, "copying")
	var done *client.Backup
	if service != nil {
		done, err = service.BackupLedger(ctx, client.BackupRequest{File: to}, told(b))
	} else {
		done, err = backupAtRest(ctx, to, opt.file, b)
	}
	b.end()
	switch {
	case err != nil:
		return interrupted(ctx, err, "nothing is left of the unfinished copy")
	case opt.json:
		return printJSON(std.Out, done)
	}
	_, err = fmt.Fprintf(std.Out, "%s (%s), with its checkpoints in %s\n", done.File, bytesText(done.Bytes), filepath.Base(done.Checkpoints))
	return err
}

// backupAtRest copies a ledger without the service.
func backupAtRest(ctx context.Context, to, file string, b *bar) (_ *client.Backup, err error) {
	a, err := openArchive(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := ledger.Backup(ctx, a, ledger.BackupOptions{To: to, Checkpoints: a.checkpoints, Verifiers: a.keys, Progress: b.tell}); err != nil {
		return nil, err
	}
	info, err := os.Stat(to)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "%w", err)
	}
	return &client.Backup{File: to, Checkpoints: ledger.BackupCheckpoints(to), Bytes: info.Size()}, nil
}
