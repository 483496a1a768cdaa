package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"durward/client"
	"durward/internal/ledgerapi"
	"durward/ledger"
)

type ledgerInfoOptions struct {
	file string
	json bool
}

func newLedgerInfo(std Streams) *cobra.Command {
	var opt ledgerInfoOptions
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Show where the record is, how large, how old, and who signs it",
		Long: "Show where the record is, how large and how old it is, for how long what is kept, and the key that signs it. Copy the key\n" +
			"and the checkpoint file to another place to be able to prove the record against changes of everything on this machine.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLedgerInfo(cmd.Context(), opt, std) },
	}
	fileFlag(cmd, &opt.file)
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runLedgerInfo(ctx context.Context, opt ledgerInfoOptions, std Streams) error {
	service, err := ledgerService(ctx, opt.file)
	if err != nil {
		return err
	}
	var info *client.LedgerInfo
	if service != nil {
		info, err = service.Ledger(ctx)
	} else {
		info, err = infoAtRest(ctx, opt.file)
	}
	switch {
	case err != nil:
		return err
	case opt.json:
		return printJSON(std.Out, info)
	}
	return printInfo(std, info)
}

// infoAtRest is what a file says without the service.
func infoAtRest(ctx context.Context, file string) (_ *client.LedgerInfo, err error) {
	a, err := openArchive(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	head, err := a.Head(ctx)
	if err != nil {
		return nil, err
	}
	info := &client.LedgerInfo{File: a.path, Head: ledgerapi.Link(&head), Checkpoints: a.checkpoints}
	if len(a.keys) > 0 {
		info.Key = a.keys[len(a.keys)-1]
	}
	newest, links, bodies, err := ledger.Signed(a.checkpoints, a.keys)
	if err != nil {
		return nil, err
	}
	info.Checkpoint = client.LedgerAnchor{Seq: newest.Seq, Time: newest.Time}
	info.Truncated, info.BodiesGone = links, bodies
	info.Bytes, err = a.Size(ctx)
	return info, err
}

func printInfo(std Streams, i *client.LedgerInfo) error {
	if i.Problem != "" {
		line := "nothing can be recorded since " + i.Since.Local().Format(time.DateTime) + ", so calls are refused: " + inline(i.Problem)
		if _, err := io.WriteString(std.Out, paint(std.Out, red, line)+"\n"); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(std.Out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "file\t%s, %s\n", i.File, bytesText(i.Bytes)) // the writer keeps the first error
	if i.Sync != "" {
		bodies := "with bodies"
		if !i.Bodies {
			bodies = "without bodies"
		}
		_, _ = fmt.Fprintf(w, "records\tsync %s, %s\n", i.Sync, bodies)
		_, _ = fmt.Fprintf(w, "kept\trecords %s, bodies %s, at most %s\n", i.Keep.Rows, i.Keep.Bodies, i.Keep.MaxSize)
	}
	if i.Head.Seq > 0 {
		_, _ = fmt.Fprintf(w, "chain\t%d links, the last of %s: %s\n", i.Head.Seq, stamp(i.Head.At), i.Head.Hash)
	} else {
		_, _ = fmt.Fprintf(w, "chain\tnothing is recorded yet\n")
	}
	if i.Truncated > 0 || i.BodiesGone > 0 {
		_, _ = fmt.Fprintf(w, "removed\tlinks up to %d, bodies up to %d\n", i.Truncated, max(i.Truncated, i.BodiesGone))
	}
	_, _ = fmt.Fprintf(w, "signed\tin %s", i.Checkpoints)
	if i.Checkpoint.Seq > 0 {
		_, _ = fmt.Fprintf(w, ", up to link %d at %s", i.Checkpoint.Seq, stamp(i.Checkpoint.Time))
	}
	_, _ = fmt.Fprintf(w, "\nkey\t%s\n", i.Key)
	return w.Flush()
}
