package cli

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

type serverAddOptions struct {
	env, headers []string
	dir          string
	transport    string
	keep, json   bool
	yes, look    bool
}

func newServerAdd(std Streams) *cobra.Command {
	var opt serverAddOptions
	cmd := &cobra.Command{
		Use:   "add NAME (-- COMMAND [ARG…] | URL)",
		Short: "Add a server to the configuration and try it at once",
		Long: "Add a server to your configuration file and try it at once. A server that does not come up is not added,\n" +
			"unless --keep is given. Arguments, values and the URL may hold references: ${env:NAME}, ${file:PATH}.\n" +
			"Each tool is shown with its risk and with what the rules say of it. What the server offers is accepted as it is now, at a\n" +
			"terminal after a question: what it changes later is held, and what it says of its risk is believed. With --no-accept\n" +
			"nothing is accepted; see: durward pins.\n" +
			"The service is started in the background if none runs.\n" + exitHelp,
		Example: "  durward server add files -- npx -y @modelcontextprotocol/server-filesystem ~/files\n" +
			"  durward server add remote https://mcp.example.com/mcp --header 'Authorization: Bearer ${env:TOKEN}'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := newServerFrom(args, cmd.ArgsLenAtDash(), opt)
			if err != nil {
				return usage(err)
			}
			return runServerAdd(cmd.Context(), s, opt, std)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opt.env, "env", nil, "NAME=VALUE in the server's environment; may be repeated")
	flags.StringArrayVar(&opt.headers, "header", nil, "'NAME: VALUE' sent to a remote server; may be repeated")
	flags.StringVar(&opt.dir, "dir", "", "working directory of the command")
	flags.StringVar(&opt.transport, "transport", "", "stdio, http or sse (default: stdio for a command, http for a URL)")
	flags.BoolVar(&opt.keep, "keep", false, "keep the server even if it does not come up now")
	flags.BoolVarP(&opt.yes, "yes", "y", false, "accept what the server offers without a question")
	flags.BoolVar(&opt.look, "no-accept", false, "accept nothing that the server offers yet")
	jsonFlag(cmd, &opt.json)
	return cmd
}

// newServerFrom reads the command line; dash is how many arguments stood before --.
func newServerFrom(args []string, dash int, opt serverAddOptions) (client.NewServer, error) {
	s := client.NewServer{Name: args[0], Transport: opt.transport, Keep: opt.keep}
	switch {
	case dash == 1 && len(args) > 1:
		s.Command, s.Args = args[1], args[2:]
	case dash < 0 && len(args) == 2 && strings.Contains(args[1], "://"):
		s.URL = args[1]
	case dash < 0 && len(args) >= 2:
		return s, fmt.Errorf("%q is no URL; a command stands behind --: durward server add %s -- %s", args[1], args[0], strings.Join(args[1:], " "))
	default:
		return s, fmt.Errorf("what is %s? Give a URL, or a command behind --", args[0])
	}
	var err error
	if s.Env, err = pairs("--env", opt.env, "="); err != nil {
		return s, err
	}
	if s.Headers, err = pairs("--header", opt.headers, ":"); err != nil {
		return s, err
	}
	// The file knows only itself, not the directory of this command.
	if strings.ContainsRune(s.Command, filepath.Separator) {
		if s.Command, err = filepath.Abs(s.Command); err != nil {
			return s, err
		}
	}
	if opt.dir != "" {
		s.Dir, err = filepath.Abs(opt.dir)
	}
	return s, err
}

// pairs reads NAME<sep>VALUE.
func pairs(flag string, texts []string, sep string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil //nolint:nilnil // no pairs, no map
	}
	out := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, sep)
		if !ok || name == "" {
			return nil, fmt.Errorf("%s wants NAME%sVALUE", flag, sep) // what was given may be a secret
		}
		if sep == ":" {
			value = strings.TrimLeft(value, " ")
		}
		out[name] = value
	}
	return out, nil
}

func runServerAdd(ctx context.Context, s client.NewServer, opt serverAddOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	note(std, "trying "+s.Name+" …")
	added, err := service.AddServer(ctx, s)
	if err != nil {
		return withHint(err, "%s", addHint(s, err))
	}
	if err := acceptServer(ctx, service, added, opt, std); err != nil {
		return err
	}
	return failing(&added.Status)
}

// addHint says what to do about a server that could not be added.
func addHint(s client.NewServer, err error) string {
	switch kind := durward.KindOf(err); {
	case kind == durward.Conflict:
		return "durward server list shows what there is"
	case kind != durward.Unavailable:
		return "durward server add --help shows examples"
	case s.URL != "":
		return "is the URL right, and does it need credentials (--header 'Authorization: Bearer ${env:TOKEN}')? --keep adds it as it is"
	}
	if _, missing := exec.LookPath(s.Command); missing != nil {
		if runner := runtimeOf(s.Command); runner != "" {
			return fmt.Sprintf("%s is not installed here; it comes with %s", s.Command, runner)
		}
		return fmt.Sprintf("there is no program %s in the PATH; install it or give its full path", s.Command)
	}
	return fmt.Sprintf("run it by hand to see what is wrong: %s; add --keep to add it as it is", shellLine(s.Command, s.Args))
}

// runtimeOf names what a launcher of packages comes with; "" for other programs.
func runtimeOf(command string) string {
	return map[string]string{"npx": "Node.js", "node": "Node.js", "uvx": "uv", "uv": "uv", "docker": "Docker", "deno": "Deno", "bunx": "Bun"}[command]
}

// shellLine writes a command as a shell reads it.
func shellLine(command string, args []string) string {
	words := []string{shellQuote(command)}
	for _, arg := range args {
		words = append(words, shellQuote(arg))
	}
	return strings.Join(words, " ")
}

func shellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
