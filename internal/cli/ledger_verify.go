package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"durward/internal/ledgerapi"
	"durward/ledger"
)

type ledgerVerifyOptions struct {
	file        string
	checkpoints string
	copies      []string
	keys        []string
	json        bool
}

// verdict is an answer of verify that is not yes. It has exit statuses of its own.
type verdict struct {
	error
	status int
}

// Unwrap returns the error.
func (v *verdict) Unwrap() error { return v.error }

// Exit statuses of verify.
const (
	statusDamaged = 1
	statusUnclear = 2
)

func newLedgerVerify(std Streams) *cobra.Command {
	var opt ledgerVerifyOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Look whether the record is what was written",
		Long: "Look whether the record is what was written: every record against the chain, the chain against the checkpoints that\n" +
			"were signed outside of it, every body against its digest. What is damaged is named. What came after the last checkpoint\n" +
			"follows from what is before, but could have been replaced. Nothing is changed, whatever is found; but what a service that\n" +
			"was killed left in the journal beside the file is taken into it first.\n\n" +
			"The service that runs does it, or with --file, and where none runs, this command itself. Who does not trust the machine\n" +
			"compares with checkpoints and keys that were kept elsewhere.\n\n" +
			"Exit status: 0 it is what was written, 1 it is damaged, 2 that cannot be said.",
		Example: "  durward ledger verify\n  durward ledger verify --file /backup/ledger.db --copy /usb/ledger.checkpoints --key \"$(cat /usb/ledger.key.pub)\"",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := runLedgerVerify(cmd.Context(), opt, std)
			var v *verdict
			if err != nil && !errors.As(err, &v) {
				err = &verdict{err, statusUnclear}
			}
			return err
		},
	}
	fileFlag(cmd, &opt.file)
	flags := cmd.Flags()
	flags.StringVar(&opt.checkpoints, "checkpoints", "", "the checkpoint file (default: that beside a copy, else that of the state directory); needs --file")
	flags.StringArrayVar(&opt.copies, "copy", nil, "a checkpoint file that was kept elsewhere, which must agree; needs --file")
	flags.StringArrayVar(&opt.keys, "key", nil, "trust this public key only, instead of those beside the signing key; needs --file")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runLedgerVerify(ctx context.Context, opt ledgerVerifyOptions, std Streams) error {
	if opt.file == "" && (opt.checkpoints != "" || len(opt.copies)+len(opt.keys) > 0) {
		return usage(errors.New("--checkpoints, --copy and --key need --file: the service has its own"))
	}
	report, err := verifyReport(ctx, opt, std)
	if err != nil {
		return interrupted(ctx, err, "nothing can be said of the ledger, and nothing was changed")
	}
	if opt.json {
		v, err := ledgerapi.Verified(report)
		if err == nil {
			err = printJSON(std.Out, v)
		}
		if err != nil {
			return err
		}
	} else if err := report.WriteText(foreign{std.Out}); err != nil {
		return err
	}
	switch report.Verdict {
	case ledger.VerdictOK:
		return nil
	case ledger.VerdictDamaged:
		return &verdict{report.Err(), statusDamaged}
	default:
		return &verdict{report.Err(), statusUnclear}
	}
}

func verifyReport(ctx context.Context, opt ledgerVerifyOptions, std Streams) (report *ledger.Report, err error) {
	service, err := ledgerService(ctx, opt.file)
	if err != nil {
		return nil, err
	}
	b := newBar(std, "verifying")
	defer b.end()
	if service != nil {
		v, err := service.VerifyLedger(ctx, told(b))
		if err != nil {
			return nil, err
		}
		return ledgerapi.Report(v)
	}
	a, err := openArchive(ctx, opt.file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if opt.checkpoints != "" {
		a.checkpoints = opt.checkpoints
	}
	if len(opt.keys) > 0 {
		a.keys = keyLines(opt.keys)
	}
	return ledger.Verify(ctx, a, ledger.VerifyOptions{Checkpoints: a.checkpoints, Copies: opt.copies, Verifiers: a.keys, Progress: b.tell})
}

// keyLines are the keys in texts that may be whole files of them.
func keyLines(texts []string) (keys []string) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				keys = append(keys, line)
			}
		}
	}
	return keys
}
