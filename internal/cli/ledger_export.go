package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/ledgerapi"
	"durward/internal/secret"
	"durward/internal/telemetry/otlp"
	"durward/ledger"
)

type ledgerExportOptions struct {
	file     string
	format   string
	out      string
	endpoint string
	bodies   bool
	content  bool
	filter   client.CallFilter
}

// envOTLPHeaders names the headers for a collector: a token among them must not
// stand in the arguments of a process.
const envOTLPHeaders = "DURWARD_OTLP_HEADERS"

func newLedgerExport(std Streams) *cobra.Command {
	var opt ledgerExportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export calls as NDJSON or CSV, or to an OpenTelemetry collector",
		Long: "Export calls, newest first, with everything that belongs to them: as NDJSON, one object a line; as CSV, one row a call;\n" +
			"or as OTLP log records to the collector at --endpoint, with headers (Name=value, with commas between them) from the\n" +
			"variable " + envOTLPHeaders + ". Filters are those of durward calls. The file is read, while the service runs as well; nothing\n" +
			"but what is exported goes to stdout. An interrupt is safe: what was written until then is whole lines.\n" + exitHelp,
		Example: "  durward ledger export --since 30d > calls.ndjson\n  durward ledger export --format csv --out calls.csv\n" +
			"  durward ledger export --format otlp --endpoint http://127.0.0.1:4318 --since 1d",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLedgerExport(cmd.Context(), opt, std) },
	}
	fileFlag(cmd, &opt.file)
	filterFlags(cmd, &opt.filter)
	flags := cmd.Flags()
	flags.StringVar(&opt.format, "format", "ndjson", "ndjson, csv or otlp")
	flags.StringVar(&opt.out, "out", "", "write to this new file (0600) instead of stdout")
	flags.StringVar(&opt.endpoint, "endpoint", "", "with otlp: base URL of the collector, such as http://127.0.0.1:4318")
	flags.BoolVar(&opt.bodies, "bodies", false, "with ndjson: with the whole requests and results, as far as they are kept")
	flags.BoolVar(&opt.content, "content", false, "with otlp: send the beginnings of requests and results, too")
	_ = cmd.RegisterFlagCompletionFunc("format", words("ndjson", "csv", "otlp")) // the flag was declared above
	return cmd
}

// check refuses what does not go together.
func (o *ledgerExportOptions) check() error {
	switch {
	case o.format != "ndjson" && o.format != "csv" && o.format != "otlp":
		return usage(fmt.Errorf("--format is ndjson, csv or otlp, not %q", o.format))
	case (o.format == "otlp") != (o.endpoint != ""):
		return usage(errors.New("--format otlp and --endpoint go together"))
	case o.format == "otlp" && o.out != "":
		return usage(errors.New("--format otlp sends to --endpoint and writes no --out"))
	case o.bodies && o.format != "ndjson":
		return usage(errors.New("--bodies needs --format ndjson"))
	case o.content && o.format != "otlp":
		return usage(errors.New("--content needs --format otlp"))
	}
	return nil
}

func runLedgerExport(ctx context.Context, opt ledgerExportOptions, std Streams) (err error) {
	if err := opt.check(); err != nil {
		return err
	}
	filter, err := ledgerapi.CallFilter(&opt.filter, time.Now())
	if err != nil {
		return err
	}
	a, err := openArchive(ctx, opt.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b := newBar(std, "exporting")
	defer b.end()
	if opt.format == "otlp" {
		return sendLogs(ctx, a, filter, opt, b)
	}
	out, finish, err := exportTo(opt.out, std)
	if err != nil {
		return err
	}
	how := ledger.ExportOptions{Filter: filter, Bodies: opt.bodies, Progress: b.tell}
	if opt.format == "csv" {
		err = ledger.ExportCSV(ctx, out, a, how)
	} else {
		err = ledger.ExportNDJSON(ctx, out, a, how)
	}
	return errors.Join(interrupted(ctx, err, "what was exported until then is whole lines"), finish())
}

// exportTo opens what is written to.
func exportTo(path string, std Streams) (out io.Writer, finish func() error, err error) {
	if path == "" {
		return foreign{std.Out}, func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, durward.Errorf(durward.Invalid, "", "the export cannot be written: %w; --out names a new file", err)
	}
	return f, func() error {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return durward.Errorf(durward.Unavailable, "", "the export was not written to its end: %w", err)
		}
		return nil
	}, nil
}

// sendLogs sends calls to a collector.
func sendLogs(ctx context.Context, a *archive, filter ledger.Filter, opt ledgerExportOptions, b *bar) error {
	headers, err := otlpHeaders(os.Getenv(envOTLPHeaders))
	if err != nil {
		return err
	}
	of := expected(ctx, a, filter)
	taken, err := otlp.ExportLogs(ctx, otlp.ExportOptions{
		Endpoint: otlp.Endpoint{URL: opt.endpoint, Headers: headers}, Resource: otlp.Resource{Version: Version(), Instance: a.path},
		Redact: func(text []byte) []byte { return text }, Content: opt.content,
		Progress: func(rows int64) { b.tell(rows, of) },
	}, calls(ctx, a, filter))
	return interrupted(ctx, withHint(err, "the collector took %d calls; whoever sends them again sends those twice", taken), fmt.Sprintf("the collector took %d calls", taken))
}

// expected is how many calls a filter chooses; 0 if that cannot be told, as it is only
// for show.
func expected(ctx context.Context, r ledger.Reader, filter ledger.Filter) int64 {
	filter.Cursor, filter.Limit = "", 0
	stats, err := r.Stats(ctx, filter)
	if err != nil {
		return 0
	}
	return stats.Calls
}

// otlpHeaders reads Name=value, with commas between them. The error quotes no value.
func otlpHeaders(text string) (map[string]secret.Value, error) {
	headers := map[string]secret.Value{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if strings.TrimSpace(part) == "" {
			continue
		}
		if !ok || name == "" {
			return nil, durward.Errorf(durward.Invalid, "", "%s must be Name=value, with commas between them", envOTLPHeaders)
		}
		headers[name] = secret.New(value)
	}
	return headers, nil
}

// calls are the calls that a filter chooses, newest first.
func calls(ctx context.Context, r ledger.Reader, filter ledger.Filter) iter.Seq2[ledger.Row, error] {
	return func(yield func(ledger.Row, error) bool) {
		filter.Limit = pageMost
		for {
			page, err := r.Calls(ctx, filter)
			if err != nil {
				yield(ledger.Row{}, err)
				return
			}
			for i := range page.Rows {
				if !yield(page.Rows[i], nil) {
					return
				}
			}
			if filter.Cursor = page.Next; filter.Cursor == "" {
				return
			}
		}
	}
}
