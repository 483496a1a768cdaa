package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/reveal"
)

type callOptions struct {
	json    bool
	files   string
	timeout time.Duration
}

// toolFailure is the answer of a tool that says that it failed.
type toolFailure struct{ tool string }

func (f *toolFailure) Error() string { return "the tool " + f.tool + " reported a failure" }

func newCall(std Streams) *cobra.Command {
	var opt callOptions
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | - | KEY=VALUE…]",
		Short: "Call a tool",
		Long: "Call a tool, by the same gate as every other call. Arguments are a JSON object, - for one on stdin, or KEY=VALUE;\n" +
			"a VALUE is read as the tool's schema says: text as it stands, everything else as JSON. They are checked before\n" +
			"anything is sent. Required arguments that are missing are asked for on a terminal.\n" +
			"Images, sounds and other binary content are written to files, whose paths are printed.\n" + exitHelp,
		Example:           "  durward call local__echo message=hello\n  durward call files__read_file '{\"path\": \"/home/me/a.txt\"}'",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: toolOrArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCall(cmd.Context(), args[0], args[1:], opt, std)
		},
	}
	cmd.Flags().StringVar(&opt.files, "files", "", "directory for images, sounds and other binary content (default: that for temporary files)")
	cmd.Flags().DurationVar(&opt.timeout, "timeout", 0, "give up after so long; 0: never")
	cmd.Flags().BoolVar(&opt.json, "json", false, "print the result as one JSON document, content included")
	return cmd
}

func runCall(ctx context.Context, name string, args []string, opt callOptions, std Streams) error {
	if opt.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opt.timeout)
		defer cancel()
	}
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	tool, err := named(ctx, service, (*client.Client).Tools, "tool", name, client.Filter{})
	if err != nil {
		return err
	}
	arguments, err := toolArguments(tool, args, std)
	if err != nil {
		return withHint(err, "durward tools %s shows its schema", name)
	}
	result, err := service.Call(ctx, client.CallRequest{Name: name, Arguments: arguments}, func(p client.Progress) { showProgress(std, p) })
	if err != nil {
		return withHint(err, "%s", callHint(ctx, service, tool, err))
	}
	if opt.json {
		err = printJSON(std.Out, result.Result)
	} else {
		err = printResult(std, result.Result, opt.files)
	}
	if err == nil && result.IsError {
		err = &toolFailure{name}
	}
	return err
}

func callHint(ctx context.Context, service *client.Client, tool *client.Item, err error) string {
	switch durward.KindOf(err) {
	case durward.Unavailable:
		if st, err := service.Status(ctx); err == nil && st.LedgerProblem != "" {
			return "nothing was executed, and nothing will be until the record can be written; durward status tells since when it cannot"
		}
		return fmt.Sprintf("nothing was executed; durward server show %s says why, durward server restart %s tries again", tool.Server, tool.Server)
	case durward.Timeout, durward.Unknown:
		return "it may have been executed: look before you call it again"
	case durward.Denied:
		return "durward calls --limit 1 tells what decided, and durward show ID why"
	default:
		return fmt.Sprintf("durward tools %s shows its schema, durward server logs %s what the server says", tool.Name, tool.Server)
	}
}

// showProgress tells a person at a terminal how a call goes.
func showProgress(std Streams, p client.Progress) {
	switch {
	case p.Log != nil:
		note(std, "["+p.Level+"] "+reveal.Text(logText(p.Log)))
	case p.Total > 0:
		note(std, fmt.Sprintf("%3.0f %% %s", 100*p.Progress/p.Total, reveal.Text(p.Message)))
	default:
		note(std, fmt.Sprintf("%g %s", p.Progress, reveal.Text(p.Message)))
	}
}

func logText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// maxStdin bounds arguments on stdin, in bytes: an MCP message.
const maxStdin = 32 << 20

func readArguments(in io.Reader) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxStdin+1))
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "", "the arguments on stdin cannot be read: %w", err)
	}
	if len(data) > maxStdin {
		return nil, durward.Errorf(durward.Invalid, "", "the arguments on stdin have more than %d bytes", maxStdin)
	}
	return data, nil
}
